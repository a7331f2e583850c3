// Picks the build for this machine: with 128-bit vectors where the engine has them.

// A module whose only function uses one vector instruction.
const VECTORS = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15,
  253, 98, 11,
]);

/** Whether this engine has 128-bit vectors. */
export function hasVectors() {
  return WebAssembly.validate(VECTORS);
}

/** Loads and starts the module; `source` gives its bytes where fetching beside this file is not possible. */
export async function load(source) {
  const name = hasVectors() ? "simd128" : "baseline";
  const library =
    name === "simd128"
      ? await import("./simd128/blockscale.js")
      : await import("./baseline/blockscale.js");
  const given = source ? { module_or_path: await source(name) } : undefined;
  await library.default(given);
  return library;
}
