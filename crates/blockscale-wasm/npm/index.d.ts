export * from "./baseline/blockscale.js";

/** Whether this engine has 128-bit vectors. */
export function hasVectors(): boolean;

/**
 * Loads and starts the module. `source` gives its bytes by the name of the build where fetching them
 * from beside this file is not possible.
 */
export function load(
  source?: (build: "simd128" | "baseline") => Promise<BufferSource> | BufferSource,
): Promise<typeof import("./baseline/blockscale.js")>;
