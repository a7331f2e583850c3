// Cutting cells along bands, and putting parts together again.

import { expect, test } from "vitest";
import type { Cells } from "../../src/protocol/look.ts";
import { pairCounts } from "../../src/worker/look/compare.ts";
import { addRows } from "../../src/worker/look/difference.ts";
import { evenEdges, runs, spread } from "../../src/worker/look/grid.ts";
import { mergeScales, mergeValues, quantiles } from "../../src/worker/look/merge.ts";

test("runs hold each cell of a band once, in pieces of one size", () => {
  for (let seed = 1; seed < 200; seed++) {
    const edges = [0];
    for (let i = 0; i < 12; i++) edges.push(edges.at(-1)! + 1 + ((seed * (i + 7)) % 5));
    const end = edges.at(-1)!;
    const [from, to] = [seed % end, Math.min(end, (seed % end) + 1 + (seed % 17))];
    let covered = 0;
    for (const run of runs(edges, from, to)) {
      expect((run.end - run.start) % run.cells).toBe(0);
      const size = (run.end - run.start) / run.cells;
      for (let cell = 0; cell < run.cells; cell++) {
        const start = run.start + cell * size;
        expect(start).toBeGreaterThanOrEqual(edges[run.first + cell]!);
        expect(start + size).toBeLessThanOrEqual(edges[run.first + cell + 1]!);
      }
      covered += run.end - run.start;
    }
    expect(covered).toBe(to - from);
  }
});

test("equal cells are one run", () => {
  expect(runs([0, 4, 8, 12, 14], 0, 14)).toEqual([
    { first: 0, cells: 3, start: 0, end: 12 },
    { first: 3, cells: 1, start: 12, end: 14 },
  ]);
});

test("pieces are powers of two, no more than asked for", () => {
  for (const [length, pieces] of [[1, 256], [255, 256], [257, 256], [16384, 256], [100, 7]] as const) {
    const edges = evenEdges(length, pieces);
    expect(edges.length - 1).toBeLessThanOrEqual(pieces);
    expect([edges[0], edges.at(-1)]).toEqual([0, length]);
    expect(Math.log2(edges[1]! - edges[0]!) % 1 === 0 || edges.length === 2).toBe(true);
  }
});

test("some rows are whole blocks, spread from the first to the last, none twice", () => {
  for (const [rows, block, most] of [[16384, 1, 512], [16384, 128, 4096], [300, 128, 128], [100, 1, 200], [1000, 1, 1]] as const) {
    const spans = spread(rows, block, most, 16);
    let last = 0;
    for (const [start, end] of spans) {
      expect(start % block).toBe(0);
      expect(end === rows || end % block === 0).toBe(true);
      expect(start).toBeGreaterThanOrEqual(last);
      last = end;
    }
    expect(spans.reduce((sum, [start, end]) => sum + end - start, 0)).toBeLessThanOrEqual(Math.max(most, block));
  }
});

test("quantiles leave out what is not finite", () => {
  const numbers = Float32Array.from([NaN, 3, 1, Infinity, 2, -Infinity, NaN]);
  expect(quantiles(numbers, [0, 0.5, 1])).toEqual([1, 2, 3]);
  expect(quantiles(Float32Array.from([NaN]), [0.5])).toEqual([NaN]);
});

test("merged statistics are those of the whole", () => {
  const values = (numbers: number[]) => ({
    count: numbers.length,
    nan: 0,
    infinite: 0,
    zeros: numbers.filter((x) => x === 0).length,
    mean: numbers.reduce((sum, x) => sum + x, 0) / numbers.length,
    rms: Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0) / numbers.length),
    std: Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0) / numbers.length - (numbers.reduce((sum, x) => sum + x, 0) / numbers.length) ** 2),
    maxAbs: Math.max(...numbers.map(Math.abs)),
  });
  const [a, b] = [[1, -2, 0], [5, 5, 5, -7, 0.5]];
  const merged = mergeValues(values(a), values(b));
  const whole = values([...a, ...b]);
  expect(Number(merged.mean)).toBeCloseTo(Number(whole.mean), 12);
  expect(Number(merged.rms)).toBeCloseTo(Number(whole.rms), 12);
  expect(Number(merged.std)).toBeCloseTo(Number(whole.std), 12);
  expect([merged.count, merged.zeros, merged.maxAbs]).toEqual([8, 1, 7]);
});

test("two bands of one scale each are all alike only where the scales are", () => {
  const one = (value: number) => ({ count: 1, element: "E4M3", counts: [1], countsBy: "byte" as const, zeros: 0, negative: 0, notFinite: 0, ones: 0, notPowerOfTwo: 0, min: value, max: value, constant: true, values: [1] });
  expect(mergeScales(one(2), one(2)).constant).toBe(true);
  expect(mergeScales(one(2), one(3)).constant).toBe(false);
});

test("equal numbers do not differ, NaN among them; NaN on one side does", () => {
  const found: Cells = { rows: 1, cols: 2, max: new Float32Array(2).fill(NaN), min: new Float32Array(2).fill(NaN), nan: new Uint32Array(2) };
  addRows(found, 0, Uint32Array.of(0, 0, 1, 1), Float32Array.of(1, NaN, 2, NaN, Infinity, 1, 1, 1), Float32Array.of(1, NaN, 5, 1, Infinity, 1, 0, 1));
  expect([...found.max]).toEqual([0, 3]);
  expect([...found.min]).toEqual([0, -1]);
  expect([...found.nan]).toEqual([0, 1]);
});

test("every pair of scales is counted once", () => {
  const a = Float32Array.of(1, 2, 4, 0, NaN, 3);
  const { counts, left, edges } = pairCounts([a], [a]);
  expect(left).toBe(2);
  expect(counts.reduce((sum, n) => sum + n, 0)).toBe(4);
  const cells = edges.length - 1;
  counts.forEach((n, i) => n > 0 && expect(Math.floor(i / cells)).toBe(i % cells));
});
