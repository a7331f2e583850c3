// The worker's answers to pictures, from the real module and a file in memory.

import { beforeAll, describe, expect, test } from "vitest";
import { scaleCounts } from "../../src/pages/tensor/scale-counts.ts";
import { written } from "../../src/pictures/block/formula.ts";
import { typeOf } from "../../src/pictures/block/types.ts";
import { MAIN, OTHER } from "../../src/protocol/calls.ts";
import type { Subject } from "../../src/protocol/look.ts";
import type { Context, Held, Library } from "../../src/worker/context.ts";
import { forget, lookHandlers } from "../../src/worker/look/index.ts";
import { built, contextOf, held, library, nvfp4File } from "./support.ts";

const subject: Subject = { checkpoint: MAIN, weight: 0, matrix: 0, reading: {} };
const [rows, cols] = [256, 512];
/** Scales of 2 by rows, with one outlier and one NaN; block 200.5 is 448, block 3.3 NaN. */
const scaleAt = (i: number) => (i === 200 * 32 + 5 ? 0x7e : i === 3 * 32 + 3 ? 0x7f : 0x20 + (Math.floor(i / 32) % 16));
const codeAt = (i: number) => (i * 37) & 0xff;

describe.skipIf(!built)("with the module", () => {
  let lib: Library;
  let context: Context;
  let main: Held;

  beforeAll(async () => {
    lib = await library();
    main = held(lib, nvfp4File(rows, cols, codeAt, scaleAt, 0.5));
    context = contextOf(lib, main, held(lib, nvfp4File(rows, cols, codeAt, scaleAt, 0.25), OTHER));
  });

  test("cells hold the extremes of every number of theirs, whatever their edges", async () => {
    const every = (n: number, step: number) => Array.from({ length: Math.ceil(n / step) + 1 }, (_, i) => Math.min(n, i * step));
    const single = await lookHandlers.cells({ subject, layer: "scales", rowEdges: every(rows, 1), colEdges: every(32, 1) }, context);
    expect(single.max[200 * 32 + 5]).toBe(224);
    expect(single.nan[3 * 32 + 3]).toBe(1);
    const pooled = await lookHandlers.cells({ subject, layer: "scales", rowEdges: [0, 7, 199, 256], colEdges: [0, 3, 32] }, context);
    for (let row = 0; row < 3; row++) {
      for (let col = 0; col < 2; col++) {
        let [max, min, nan] = [-Infinity, Infinity, 0];
        for (let r = [0, 7, 199][row]!; r < [7, 199, 256][row]!; r++) {
          for (let c = [0, 3][col]!; c < [3, 32][col]!; c++) {
            const value = single.max[r * 32 + c]!;
            nan += single.nan[r * 32 + c]!;
            if (!Number.isNaN(value)) [max, min] = [Math.max(max, value), Math.min(min, value)];
          }
        }
        expect([pooled.max[row * 2 + col], pooled.min[row * 2 + col], pooled.nan[row * 2 + col]]).toEqual([max, min, nan]);
      }
    }
  });

  test("the read-out is the module's own number, with its bytes", async () => {
    const { value, scale } = await lookHandlers.point({ subject, layer: "scales", row: 200, col: 5 }, context);
    expect([value, scale?.bytes, Number(scale?.block), scale?.global]).toEqual([224, [0x7e], 448, 0.5]);
    const weight = await lookHandlers.point({ subject, layer: "values", row: 200, col: 80 }, context);
    const { steps } = await lookHandlers.block({ subject, row: 200, block: 5 }, context);
    expect(weight.value).toBe(Number(steps.elements[0]!.value));
    expect(weight.scale).toBeNull();
  });

  test("outliers and NaN among the scales are named with their place, the farthest first", async () => {
    const facts = await lookHandlers.scaleFacts({ subject, share: "some" }, context);
    expect(facts.outliers.map(({ row, col }) => [row, col])).toEqual([[3, 3], [200, 5]]);
    expect([facts.rows, facts.cols, facts.rowsSeen]).toEqual([256, 32, 256]);
    expect(facts.quantiles[0]).toBeLessThanOrEqual(facts.quantiles[1]);
  });

  test("the histogram of scales counts each scale once and knows the value of each byte", async () => {
    const { stats } = await lookHandlers.scaleFacts({ subject, share: "all" }, context);
    const counts = scaleCounts(stats);
    expect(counts.bins.reduce((sum, bin) => sum + bin.count, 0) + counts.zeros + counts.nan).toBe(rows * 32);
    expect([counts.nan, counts.saturated]).toEqual([1, 1]);
    expect(counts.bins.find(({ code }) => code === 0x38)?.value).toBe(1);
    expect(counts.bins.at(-1)?.value).toBe(448);
  });

  test("statistics of weights count all of them", async () => {
    const facts = await lookHandlers.valueFacts({ subject, share: "all" }, context);
    expect(facts.values.count).toBe(rows * cols);
    expect(facts.counts.reduce((sum, n) => sum + n, 0) + facts.nan).toBe(rows * cols);
    expect(facts.values.nan).toBe(16);
    expect(facts.quantiles[0]).toBeGreaterThan(0);
    expect(facts.blocks?.blocks).toBe(rows * 32);
  });

  test("another reading shows other numbers of the same bytes", async () => {
    const at = (reading: Subject["reading"], col: number) => lookHandlers.point({ subject: { ...subject, reading }, layer: "values", row: 9, col }, context).then(({ value }) => value);
    expect(await at({ nibbles: "high-first" }, 2)).toBe(await at({}, 3));
    expect(await at({ global: "divisor" }, 2)).toBe((await at({}, 2)) * 4);
    const tiled = await lookHandlers.cells({ subject: { ...subject, reading: { layout: "tiles-128x4" } }, layer: "scales", rowEdges: [200, 201], colEdges: [5, 6] }, context);
    expect(tiled.max[0]).not.toBe(224);
  });

  test("a profile along rows has the mean of each row", async () => {
    const profile = await lookHandlers.profile({ subject, layer: "scales", along: "rows", pieces: 256 }, context);
    const facts = await lookHandlers.cells({ subject, layer: "scales", rowEdges: [8, 9], colEdges: Array.from({ length: 33 }, (_, i) => i) }, context);
    const mean = facts.max.reduce((sum, x) => sum + x, 0) / 32;
    expect(profile.mean[8]).toBeCloseTo(mean, 6);
    expect(profile.edges.length).toBe(257);
  });

  test("a weight equals itself, and differs from one with half the global scale everywhere but at zero", async () => {
    const other: Subject = { ...subject, checkpoint: OTHER };
    const same = await lookHandlers.compare({ reference: subject, output: subject, share: "all" }, context);
    expect(same.total.exact).toBe(true);
    const half = await lookHandlers.compare({ reference: subject, output: other, share: "all" }, context);
    expect(Number(half.total.normRatio)).toBeCloseTo(0.5, 6);
    expect(Number(half.total.cosine)).toBeCloseTo(1, 9);
    const edges = { rowEdges: [200, 201], colEdges: [5, 6] };
    const difference = await lookHandlers.differenceCells({ reference: subject, output: other, layer: "scales", ...edges }, context);
    expect(difference.max[0]).toBe(-112);
  });

  test("what is written of a code comes to the value that the library gives it", async () => {
    const { steps } = await lookHandlers.block({ subject, row: 9, block: 7 }, context);
    const type = typeOf("E2M1")!;
    for (const element of steps.elements) expect(written(type, element.fields!, Number(element.element)).value).toBe(Number(element.element));
    const scale = typeOf(steps.scale!.element)!;
    for (let byte = 0; byte < 256; byte++) {
      const file = held(lib, nvfp4File(1, 16, () => 0x11, () => byte, 1));
      const { steps } = await lookHandlers.block({ subject, row: 0, block: 0 }, contextOf(lib, file));
      const value = Number(steps.scale!.block);
      if (Number.isFinite(value)) expect(written(scale, steps.scale!.fields!, value).value).toBe(value);
      forget(file);
    }
  });

  test("scales in the wrong order are explained worse by rows and columns", async () => {
    const loud = (i: number) => 0x30 + ((Math.floor(i / 32) * 7) % 13) + ((i % 32) * 5) % 11;
    const file = held(lib, nvfp4File(rows, cols, codeAt, loud, 1));
    const own = contextOf(lib, file);
    const right = await lookHandlers.score({ subject }, own);
    const wrong = await lookHandlers.score({ subject: { ...subject, reading: { layout: "tiles-128x4" } } }, own);
    expect(Number(right.left)).toBeLessThan(Number(wrong.left));
    expect(Number(right.explained)).toBeGreaterThan(Number(wrong.explained));
  });

  test("an overview gives the same cells and profiles as the numbers themselves", async () => {
    // Large enough for several bands; what a band is is settled by the columns.
    const [many, wide] = [1024, 8192];
    const file = held(lib, nvfp4File(many, wide, (i) => (i * 73 + (i >> 12)) & 0xff, (i) => 0x30 + ((i * 31) % 40), 1));
    const own = contextOf(lib, file);
    const edges = (end: number, step: number) => Array.from({ length: end / step + 1 }, (_, i) => i * step);
    const [rowEdges, colEdges] = [edges(many, 64), edges(wide, 512)];
    const pooled = await lookHandlers.cells({ subject, layer: "values", rowEdges, colEdges }, own);
    // An edge that no overview has: from the bands.
    const direct = await lookHandlers.cells({ subject, layer: "values", rowEdges, colEdges: [...colEdges.slice(0, -1), wide - 1, wide] }, own);
    for (let row = 0; row < 16; row++) {
      for (let col = 0; col < 15; col++) {
        expect(pooled.max[row * 16 + col]).toBe(direct.max[row * 17 + col]);
        expect(pooled.min[row * 16 + col]).toBe(direct.min[row * 17 + col]);
      }
    }
    const profile = await lookHandlers.profile({ subject, layer: "values", along: "cols", pieces: 16 }, own);
    expect(profile.max[0]).toBe(Math.max(...Array.from({ length: 16 }, (_, row) => pooled.max[row * 16]!)));
  });

  test("what a checkpoint had in memory is let go of", async () => {
    await lookHandlers.point({ subject, layer: "scales", row: 0, col: 0 }, context);
    forget(main);
    const { value } = await lookHandlers.point({ subject, layer: "scales", row: 200, col: 5 }, context);
    expect(value).toBe(224);
  });
});
