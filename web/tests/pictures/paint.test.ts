// From numbers to colours.

import { expect, test } from "vitest";
import { lut } from "../../src/pictures/colour/maps.ts";
import { legendTicks } from "../../src/pictures/heat/legend.ts";
import { kindOf, type Paint, paintTile, position } from "../../src/pictures/heat/paint.ts";
import { isOutlier, rangeOf } from "../../src/pictures/heat/range.ts";
import type { TileData } from "../../src/pictures/heat/tiles.ts";

const accent = [255, 100, 0] as const;
const bad = [200, 0, 120] as const;

function paint(over: Partial<Paint> = {}): Paint {
  return { table: lut("viridis", "light"), spacing: "log", signed: false, range: rangeOf(1, 16, false), outlier: accent, bad, ...over };
}

function tile(max: number[], min = max, nan = max.map(() => 0)): TileData {
  return { rows: 1, cols: max.length, max: Float32Array.from(max), min: Float32Array.from(min), nan: Uint32Array.from(nan) };
}

function colour(pixels: Uint8ClampedArray, cell: number): number[] {
  return [...pixels.subarray(4 * cell, 4 * cell + 4)];
}

test("colour maps start and end where they are known to, and rise in lightness", () => {
  const viridis = lut("viridis", "light");
  expect([...viridis.subarray(0, 3)]).toEqual([0x44, 0x01, 0x54]);
  expect([...viridis.subarray(-3)]).toEqual([0xfd, 0xe7, 0x25]);
  for (const name of ["viridis", "cividis"] as const) {
    const table = lut(name, "light");
    const lightness = (i: number) => 0.2126 * (table[3 * i]! / 255) ** 2.2 + 0.7152 * (table[3 * i + 1]! / 255) ** 2.2 + 0.0722 * (table[3 * i + 2]! / 255) ** 2.2;
    for (let i = 8; i < 256; i++) expect(lightness(i)).toBeGreaterThan(lightness(i - 8));
  }
});

test("the middle of a diverging map is the ground of its theme", () => {
  const light = lut("diverging", "light").subarray(3 * 128, 3 * 128 + 3);
  const dark = lut("diverging", "dark").subarray(3 * 128, 3 * 128 + 3);
  expect(Math.min(...light)).toBeGreaterThan(230);
  expect(Math.max(...dark)).toBeLessThan(40);
});

test("octaves are evenly apart with log, and not with linear", () => {
  const log = [1, 2, 4, 8, 16].map((x) => position(x, paint()));
  expect(log).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(position(8.5, paint({ spacing: "linear" }))).toBe(0.5);
});

test("numbers beyond the range have the colour of its end", () => {
  expect([position(0.5, paint()), position(100, paint())]).toEqual([0, 1]);
});

test("a plane of one number is flat, in the middle of the colours", () => {
  const flat = paint({ range: rangeOf(1, 1, false) });
  const { pixels, outliers } = paintTile(tile([1, 1, 1, 1]), flat);
  expect(outliers).toEqual([]);
  expect(new Set([0, 1, 2, 3].map((i) => String(colour(pixels, i)))).size).toBe(1);
  expect(position(1, flat)).toBe(0.5);
});

test("signed numbers of the same size lie evenly about the middle", () => {
  for (const spacing of ["log", "linear"] as const) {
    const signed = paint({ signed: true, spacing, range: rangeOf(0, 2, true) });
    expect(position(0, signed)).toBe(0.5);
    for (const x of [0.01, 0.5, 2, 5]) expect(position(x, signed) + position(-x, signed)).toBeCloseTo(1);
  }
});

test("an outlier is a factor of two beyond the range, or as far as the range is wide", () => {
  const narrow = rangeOf(1, 1.1, false);
  expect([isOutlier(2, narrow), isOutlier(2.3, narrow), isOutlier(0.6, narrow), isOutlier(0.4, narrow)]).toEqual([false, true, false, true]);
  const wide = rangeOf(1, 16, false);
  expect([isOutlier(255, wide), isOutlier(257, wide), isOutlier(1 / 15, wide), isOutlier(1 / 17, wide)]).toEqual([false, true, false, true]);
  expect(isOutlier(0, wide)).toBe(false);
});

test("one outlier among a cell of thousands takes the cell", () => {
  const { pixels, outliers } = paintTile(tile([4, 1000, 4], [2, 2, 2]), paint());
  expect(outliers).toEqual([1]);
  expect(colour(pixels, 1)).toEqual([...accent, 255]);
  const low = paintTile(tile([4, 4], [2, 0.001]), paint());
  expect(low.outliers).toEqual([1]);
});

test("NaN and infinity take a cell whatever else is in it; zero shows the ground", () => {
  const { pixels, bad: found } = paintTile(tile([4, Infinity, 0, NaN], [4, 4, 0, NaN], [1, 0, 0, 0]), paint());
  expect(found).toEqual([0, 1]);
  expect(colour(pixels, 0)).toEqual([...bad, 255]);
  expect(colour(pixels, 2)[3]).toBe(0);
  expect(colour(pixels, 3)[3]).toBe(0);
  expect(kindOf(NaN, NaN, 3, rangeOf(1, 2, false))).toBe("bad");
});

test("of both signs the larger number is drawn", () => {
  const signed = paint({ signed: true, spacing: "linear", table: lut("diverging", "light"), range: rangeOf(0, 2, true) });
  const { pixels } = paintTile(tile([1, 1], [-2, -0.5]), signed);
  // Blue below zero, brown above.
  expect(colour(pixels, 0)[2]).toBeGreaterThan(colour(pixels, 0)[0]!);
  expect(colour(pixels, 1)[0]).toBeGreaterThan(colour(pixels, 1)[2]!);
});

test("a range of nothing is a range all the same", () => {
  for (const high of [0, NaN, Infinity, -1]) {
    const range = rangeOf(NaN, high, false);
    expect(range.low).toBeLessThan(range.high);
    expect(Number.isFinite(position(1, { range, spacing: "log", signed: false }))).toBe(true);
  }
});

test("ticks of the colours are powers of two with log and round numbers with linear", () => {
  const texts = (over: Partial<Paint>) => legendTicks(paint(over), 6).map(({ text }) => text);
  expect(texts({})).toEqual(["2⁰", "2¹", "2²", "2³", "2⁴"]);
  expect(texts({ spacing: "linear", range: rangeOf(0.1, 1, false) })).toEqual(["0.2", "0.4", "0.6", "0.8", "1"]);
  expect(texts({ signed: true, spacing: "linear", range: rangeOf(0, 1, true) })).toContain("−0.5");
});
