// Loads each build of the package and looks at a weight whose numbers are known: node smoke.mjs FOLDER

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);

/** Two rows of 32 NVFP4 elements, all codes 2 (that is, 1.0); the scales are 1, 2, 1 and 32, the global one 0.5. */
function checkpoint() {
  const header = new TextEncoder().encode(
    JSON.stringify({
      "a.weight": { dtype: "U8", shape: [2, 16], data_offsets: [0, 32] },
      "a.weight_scale": { dtype: "F8_E4M3", shape: [2, 2], data_offsets: [32, 36] },
      "a.weight_scale_2": { dtype: "F32", shape: [], data_offsets: [36, 40] },
    }),
  );
  const file = new Uint8Array(8 + header.length + 40);
  new DataView(file.buffer).setUint32(0, header.length, true);
  file.set(header, 8);
  file.fill(0x22, 8 + header.length, 8 + header.length + 32);
  file.set([0x38, 0x40, 0x38, 0x60], 8 + header.length + 32);
  new DataView(file.buffer).setFloat32(8 + header.length + 36, 0.5, true);
  return file;
}

async function check(name) {
  const library = await import(new URL(`${name}/blockscale.js`, folder));
  await library.default({ module_or_path: await readFile(new URL(`${name}/blockscale_bg.wasm`, folder)) });
  const { Opening, Region, Rect, Layer, Comparison } = library;

  const file = checkpoint();
  const read = ({ start, end }) => file.slice(start, end);
  const opening = new Opening(["model.safetensors"], [file.length]);
  const asked = [];
  for (let want; (want = opening.wants()[0]); ) {
    asked.push([want.start, want.end]);
    opening.give(want.file, want.start, read(want));
  }
  assert.equal(asked.length, 2);
  assert.deepEqual(asked[0], [0, 8]);
  const opened = opening.finish();

  assert.equal(opened.summary().weights, 1);
  const table = opened.weights();
  assert.equal(table.names(), "a.weight");
  assert.deepEqual(table.formats(), ["NVFP4"]);
  assert.deepEqual([...table.bytes()], [40]);
  assert.deepEqual(opened.weight(0).scalePlane, {
    rows: 2, cols: 2, element: "E4M3", blockRows: 1, blockCols: 16, needsCodes: false,
  });

  const region = new Region(0, 0, 0, 2);
  const scales = opened.scales(region, opened.scalePieces(region).map(read));
  const picture = scales.heatMap(Layer.Scales, new Rect(0, 2, 0, 2), 2, 1);
  assert.deepEqual([...picture.max()], [1, 16]);
  assert.throws(() => scales.valueStats(), /only scales were read/);

  const sight = opened.see(region, opened.pieces(region).map(read));
  assert.deepEqual([...sight.numbers(Layer.Values, new Rect(1, 2, 15, 17))], [0.5, 16]);
  assert.equal(sight.codeCounts(new Rect(0, 2, 0, 32))[2], 64);
  const block = sight.block(1, 1);
  assert.deepEqual(block.scale.bytes, [0x60]);
  assert.deepEqual([block.scale.block, block.scale.global, block.scale.scale], [32, 0.5, 16]);
  assert.equal(block.elements[0].value, 16);
  assert.throws(() => sight.block(2, 0), /no block 0 in row 2/);

  const inverse = new Region(0, 0, 0, 2).withGlobalScale("divisor");
  const other = opened.see(inverse, opened.pieces(inverse).map(read));
  const total = new Comparison(sight, other, new Rect(0, 2, 0, 32), 1, 1).total();
  assert.equal(total.differing, 64);
  assert.equal(total.maxAbsError, 48);
}

for (const name of ["baseline", "simd128"]) await check(name);

const { load, hasVectors } = await import(new URL("index.js", folder));
assert.equal(hasVectors(), true);
const library = await load((name) => readFile(new URL(`${name}/blockscale_bg.wasm`, folder)));
assert.equal(library.layoutNames()[0], "linear");
