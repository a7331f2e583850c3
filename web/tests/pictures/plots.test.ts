// @vitest-environment happy-dom
// Plots: what they draw, read out and have in their tables.

import { expect, test } from "vitest";
import { lut } from "../../src/pictures/colour/maps.ts";
import { byValue, codeBars, codeGrid } from "../../src/pictures/codes.ts";
import { step } from "../../src/pictures/figure.ts";
import { expectedMagnitudes, within } from "../../src/pictures/gaussian.ts";
import { histogram } from "../../src/pictures/histogram.ts";
import { layerAndModule, layerGrid } from "../../src/pictures/layers.ts";
import { profile } from "../../src/pictures/profile.ts";
import { type ScaleCounts, scaleCodes, scaleRemarks } from "../../src/pictures/scales.ts";
import { scatter } from "../../src/pictures/scatter.ts";
import { heights, linear, ticks, wholeTicks } from "../../src/pictures/svg/scale.ts";
import { tableElement } from "../../src/pictures/table.ts";
import { squarify, treemap } from "../../src/pictures/treemap.ts";

const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6];

test("codes stand in the order of their values, negative zero before zero", () => {
  expect(byValue(E2M1)).toEqual([15, 14, 13, 12, 11, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7]);
  expect(byValue([1, NaN, -1])).toEqual([2, 0, 1]);
});

test("bars are as tall as their counts, and a code that never occurs says so", () => {
  const counts = E2M1.map((_, code) => (code === 3 ? 0 : code === 7 ? 200 : 100));
  const plot = codeBars({ element: "E2M1", counts, values: E2M1, expected: E2M1.map(() => 1 / 16) }, 640);
  const tall = [...plot.node.querySelectorAll("rect.bar")].map((bar) => Number(bar.getAttribute("height")));
  expect(tall[15]! / tall[14]!).toBeCloseTo(2, 2);
  expect(tall[byValue(E2M1).indexOf(3)]).toBe(0);
  expect(plot.node.querySelectorAll("text.warn").length).toBe(1);
  expect(plot.table.rows.length).toBe(16);
  expect(plot.items?.text(15)).toContain("code 7 = 6: 200");
});

test("a grid of bytes has each code in its row and column", () => {
  const counts = Array.from({ length: 256 }, (_, code) => (code === 0xa7 ? 5 : 0));
  const values = counts.map((_, code) => (code === 0x7f || code === 0xff ? NaN : code));
  const plot = codeGrid({ element: "E4M3", counts, values, expected: null }, 480, lut("viridis", "light"));
  const mark = plot.items!.mark(0xa7);
  expect(plot.items!.pick(mark.x + 1, mark.y + 1)).toBe(0xa7);
  expect([...plot.node.querySelectorAll("rect.cell")].filter((cell) => cell.getAttribute("fill") !== "none").length).toBe(1);
  expect(plot.node.querySelectorAll("rect.special").length).toBe(2);
});

test("the share of a gaussian within x is the error function", () => {
  // Known to many digits: one, two, three and five standard deviations.
  for (const [x, share] of [[1, 0.682689492137], [2, 0.954499736104], [3, 0.997300203937], [5, 0.999999426697]] as const) {
    expect(within(x)).toBeCloseTo(share, 9);
  }
});

test("codes expected of a gaussian are those of gaussian blocks", () => {
  const magnitudes = E2M1.slice(0, 8);
  let seed = 1;
  const uniform = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const counts = magnitudes.map(() => 0);
  const [blocks, size] = [20_000, 16];
  for (let block = 0; block < blocks; block++) {
    const values = Array.from({ length: size }, () => Math.abs(normal()));
    const scale = Math.max(...values) / 6;
    for (const value of values) {
      const nearest = magnitudes.reduce((best, magnitude, i) => (Math.abs(magnitude - value / scale) < Math.abs(magnitudes[best]! - value / scale) ? i : best), 0);
      counts[nearest]! += 1;
    }
  }
  expectedMagnitudes(magnitudes, { block: size, powerOfTwo: false }).forEach((share, i) => {
    expect(Math.abs(share - counts[i]! / (blocks * size))).toBeLessThan(0.004);
  });
  const powers = expectedMagnitudes(magnitudes, { block: 32, powerOfTwo: true });
  expect(powers.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
  // A power of two rounded up leaves the largest code to fewer.
  expect(powers[7]!).toBeLessThan(expectedMagnitudes(magnitudes, { block: 32, powerOfTwo: false })[7]!);
});

test("a histogram has every bin in its table and the grid below its steps", () => {
  const data = { edges: [-2, -1, 0, 1, 2], counts: [1, 10, 20, 30, 40, 2], nan: 3, grid: [-1.5, 0, 1.5, 9], gridName: "a grid" };
  const plot = histogram(data, 400, "linear");
  expect(plot.node.querySelectorAll("line.code").length).toBe(3);
  expect(plot.table.rows.map((row) => row[2])).toEqual([1, 10, 20, 30, 40, 2, 3]);
  expect(plot.items?.text(3)).toMatch(/^1 to 2: 40 weights/);
  const mark = plot.items!.mark(2);
  expect(plot.items!.pick(mark.x + mark.width / 2, 10)).toBe(2);
});

test("with logarithms a count of one still has a height", () => {
  const height = heights(1e6, "log", 100);
  expect(height(0)).toBe(0);
  expect(height(1)).toBeGreaterThan(3);
  expect(height(1e6)).toBe(100);
});

function scales(over: Partial<ScaleCounts> = {}): ScaleCounts {
  const bins = Array.from({ length: 20 }, (_, i) => ({ code: i, value: 2 ** (i - 10), count: i === 10 ? 50 : i === 12 ? 50 : 0 }));
  return { element: "E8M0", by: "byte", bins, zeros: 0, nan: 0, saturated: 0, ones: 50, total: 100, ...over };
}

test("scales of zero and NaN have bars of their own, with their counts", () => {
  const plot = scaleCodes(scales({ zeros: 7, nan: 3 }), 480, "log");
  const texts = [...plot.node.querySelectorAll("text")].map((text) => text.textContent);
  expect(texts).toEqual(expect.arrayContaining(["zero", "NaN", "7", "3"]));
  expect(plot.table.rows.slice(-2).map((row) => row[2])).toEqual([7, 3]);
  expect(plot.items!.text(plot.items!.count - 1)).toContain("NaN: 3");
  expect(plot.node.querySelectorAll("rect.bar.one").length).toBe(1);
});

test("a plane of ones is said to be one; one largest scale is no fault", () => {
  const ones = scales({ bins: [{ code: 0x38, value: 1, count: 100 }] });
  expect(scaleRemarks(ones)[0]).toMatch(/All scales are one/);
  expect(scaleRemarks(scales({ saturated: 1 }))).toEqual([]);
  expect(scaleRemarks(scales({ saturated: 2 }))[0]).toMatch(/largest/);
  expect(scaleRemarks(scales({ nan: 1 }))[0]).toMatch(/NaN/);
  expect(scaleRemarks(scales({ zeros: 10 }))[0]).toMatch(/zero/);
  expect(scaleRemarks(scales())).toEqual([]);
});

test("a profile reads out its pieces and survives zeros and NaN", () => {
  const plot = profile({ along: "row", edges: [0, 2, 4, 5], max: [4, 8, NaN], min: [0, 2, NaN], mean: [2, 4, NaN] }, 400, 112, "log");
  expect(plot.items?.text(0)).toBe("rows 0 to 1: 0 to 4, mean 2");
  expect(plot.items?.text(2)).toContain("row 4");
  expect(plot.node.innerHTML).not.toContain("NaN");
});

test("pairs lie on the diagonal where scales are equal", () => {
  const counts = new Float64Array(16);
  counts[5] = 9;
  const plot = scatter({ edges: [0, 1, 2, 3, 4], counts, left: 2, names: ["a", "b"] }, 400, lut("viridis", "light"));
  expect(plot.table.rows).toEqual([[2, 2, 9]]);
  const { x, y, width, height } = plot.items!.mark(5);
  expect(plot.items!.pick(x + width / 2, y + height / 2)).toBe(5);
});

test("areas of a treemap are as sizes, lie within it and do not overlap", () => {
  const sizes = [50, 30, 10, 5, 3, 1, 1];
  const marks = squarify(sizes, { x: 10, y: 20, width: 300, height: 100 });
  marks.forEach((mark, i) => {
    expect(mark.width * mark.height).toBeCloseTo((sizes[i]! / 100) * 30_000, 3);
    expect(mark.x).toBeGreaterThanOrEqual(10 - 1e-6);
    expect(mark.y + mark.height).toBeLessThanOrEqual(120 + 1e-6);
    for (const other of marks.slice(0, i)) {
      const [across, down] = [Math.min(mark.x + mark.width, other.x + other.width) - Math.max(mark.x, other.x), Math.min(mark.y + mark.height, other.y + other.height) - Math.max(mark.y, other.y)];
      expect(Math.min(across, down)).toBeLessThan(1e-6);
    }
  });
  expect(squarify([0, 0], { x: 0, y: 0, width: 10, height: 10 }).every(({ width }) => width === 0)).toBe(true);
});

test("a treemap has every part in its table", () => {
  const part = (name: string, bytes: number) => ({ name, group: "ffn", format: "NVFP4", bytes, weights: 2 });
  const plot = treemap([part("a", 10), part("b", 30)], 400, 300, () => 0);
  expect(plot.table.rows).toEqual([["ffn", "b", "NVFP4", 30, 2], ["ffn", "a", "NVFP4", 10, 2]]);
  expect(plot.items?.text(0)).toContain("75 % of all");
});

test("the first number of a name is its layer, a second one an expert", () => {
  expect(layerAndModule("model.layers.3.self_attn.o_proj.weight")).toEqual({ layer: 3, module: "self_attn.o_proj", expert: false });
  expect(layerAndModule("layers.11.ffn.experts.7.w1.weight")).toEqual({ layer: 11, module: "ffn.experts.*.w1", expert: true });
  expect(layerAndModule("model.embed_tokens.weight")).toBeNull();
});

test("a cell of layers opens its weight", () => {
  const opened: number[] = [];
  const cells = [0, 1].map((layer) => ({ layer, module: "attn", weight: 10 + layer, value: layer === 0 ? 4 : NaN, of: 1 }));
  const plot = layerGrid({ statistic: "bits", cells, write: String }, 400, lut("viridis", "light"), (weight) => opened.push(weight));
  plot.items!.open!(1);
  expect(opened).toEqual([11]);
  expect(plot.items!.text(1)).toContain("not measured");
  const { x, y } = plot.items!.mark(0);
  expect(plot.items!.pick(x + 2, y + 2)).toBe(0);
});

test("arrow keys go over items and stop at the ends", () => {
  const items = { count: 10, across: 4 };
  expect([step("ArrowRight", null, items), step("End", null, items), step("ArrowLeft", 0, items), step("ArrowDown", 3, items), step("ArrowDown", 8, items), step("Home", 7, items), step("a", 3, items)]).toEqual([0, 9, 0, 7, 9, 0, null]);
});

test("ticks are round and within their ends", () => {
  expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]);
  expect(ticks(3, 3, 5)).toEqual([3]);
  expect(wholeTicks(-3.2, 4.1, 4)).toEqual([-2, 0, 2, 4]);
  expect(linear(0, 10, 100, 200)(5)).toBe(150);
});

test("a table writes counts whole and numbers with their digits", () => {
  const table = tableElement({ caption: "A", columns: [{ name: "n", kind: "count" }, { name: "x", kind: "number" }], rows: [[1234567, 0.1]] });
  expect([...table.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["1,234,567", "0.1"]);
  const long = tableElement({ caption: "B", columns: [{ name: "n", kind: "count" }], rows: Array.from({ length: 2000 }, (_, i) => [i]) });
  expect(long.querySelectorAll("tbody tr").length).toBe(1024);
  expect(long.caption?.textContent).toContain("of 2,000");
});
