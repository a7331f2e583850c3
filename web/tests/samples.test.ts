// The samples, held to the library: what it decodes is what was meant.

import { beforeAll, describe, expect, test } from "vitest";
import { FAULTY, sampleFile, samplePlanes } from "../samples/model.ts";
import { encode, inTiles, scaleValue } from "../samples/nvfp4.ts";
import { SAMPLES, type SampleName } from "../src/sources/ref.ts";
import type { Library } from "../src/worker/context.ts";
import { built, library } from "./look/support.ts";

test("an encoded number is the nearest that there is, ties to the even code", () => {
  const values = Float32Array.of(2688, -2688, 0, 112, 113, 336, 560, 784, 1120, 1568, 2240, 2241, -112, 448, 896, 1344);
  const { codes, scales, global } = encode(values, 1, 16);
  expect([scaleValue(scales[0] ?? 0), global]).toEqual([448, 1]);
  const nibbles = [...codes].flatMap((byte) => [byte & 15, byte >> 4]);
  expect(nibbles).toEqual([7, 15, 0, 0, 1, 2, 2, 4, 4, 6, 6, 7, 8, 2, 4, 5]);
});

test("tiles hold each scale once", () => {
  const scales = Uint8Array.from({ length: 256 * 8 }, (_, at) => at % 251);
  expect([...inTiles(scales, 256, 8)].sort()).toEqual([...scales].sort());
});

describe.skipIf(!built)("with the module", () => {
  let lib: Library;

  beforeAll(async () => {
    lib = await library();
  });

  function opened(sample: SampleName) {
    const file = sampleFile(sample);
    const opening = new lib.Opening(["model.safetensors"], [file.length]);
    for (let want; (want = opening.wants()[0]); ) opening.give(want.file, want.start, file.slice(want.start, want.end));
    return { file, checkpoint: opening.finish() };
  }

  function scales(sample: SampleName, layout?: string): Float32Array {
    const { file, checkpoint } = opened(sample);
    const weight = checkpoint.weights().names().split("\n").indexOf(`${FAULTY}.weight`);
    const { rows } = checkpoint.weight(weight);
    let region = new lib.Region(weight, 0, 0, rows);
    if (layout) region = region.withScaleLayout(layout);
    const pieces = checkpoint.scalePieces(region);
    const sight = checkpoint.scales(region, pieces.map(({ start, end }) => file.slice(start, end)));
    return Float32Array.from(sight.numbers(lib.Layer.Scales, new lib.Rect(0, sight.scaleRows, 0, sight.scaleCols)));
  }

  test("each opens with the weights that it was made of, all NVFP4 but the norm", () => {
    for (const sample of SAMPLES) {
      const table = opened(sample).checkpoint.weights();
      expect(table.length).toBe(samplePlanes(sample).length + 1);
      expect(table.formats().sort()).toEqual(["BF16", "NVFP4"]);
    }
  });

  test("scales in the wrong order are right when they are read as tiles", () => {
    const right = scales("clean");
    expect(scales("wrong-order")).not.toEqual(right);
    expect(scales("wrong-order", "tiles-128x4")).toEqual(right);
  });

  test("the plane of ones is flat, the clean one is not", () => {
    expect(new Set(scales("ones")).size).toBe(1);
    expect(new Set(scales("clean")).size).toBeGreaterThan(30);
  });
});
