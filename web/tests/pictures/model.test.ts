// Weights put into groups, and the lines of a config.

import { expect, test } from "vitest";
import { Names } from "../../src/opened.ts";
import { configLines } from "../../src/pages/model/config.ts";
import { cellsOf, partsOf } from "../../src/pages/model/parts.ts";
import { bitsOf } from "../../src/pages/model/statistics.ts";

const names = ["embed.weight", "layers.0.attn.wo.weight", "layers.0.ffn.experts.0.w1.weight", "layers.0.ffn.experts.1.w1.weight", "layers.1.attn.wo.weight"];
const table = {
  length: names.length,
  names: names.join("\n"),
  formats: ["BF16", "NVFP4"],
  formatIds: Uint32Array.of(0, 1, 1, 1, 0),
  layouts: ["linear"],
  layoutIds: new Uint32Array(5),
  matrices: Float64Array.of(1, 1, 1, 1, 1),
  rows: Float64Array.of(16, 16, 16, 16, 16),
  cols: Float64Array.of(16, 16, 16, 16, 16),
  bytes: Float64Array.of(512, 144, 144, 144, 512),
};
const opened = { table, names: new Names(table) };

test("every byte is in one part, by module and format", () => {
  const parts = partsOf(opened);
  expect(parts.reduce((sum, part) => sum + part.bytes, 0)).toBe(512 + 3 * 144 + 512);
  expect(parts.map(({ group, name, format, weights }) => [group, name, format, weights])).toEqual([
    ["outside layers", "embed", "BF16", 1],
    ["attn", "wo", "NVFP4", 1],
    ["ffn", "experts.*.w1", "NVFP4", 2],
    ["attn", "wo", "BF16", 1],
  ]);
});

test("of experts the worst is shown, measured before not measured", () => {
  const statistic = { id: "x", name: "x", worse: (value: number) => value, write: String, of: (weight: number) => [0, 1, NaN, 7, 2][weight]! };
  const cells = cellsOf(opened, statistic);
  expect(cells.find(({ module }) => module.includes("experts"))).toEqual({ layer: 0, module: "ffn.experts.*.w1", weight: 3, value: 7, of: 2 });
  const smallest = cellsOf(opened, { ...statistic, worse: (value) => -value, of: (weight) => [0, 1, 3, 7, 2][weight]! });
  expect(smallest.find(({ module }) => module.includes("experts"))?.weight).toBe(2);
});

test("bits a weight are those of codes and scales", () => {
  expect([bitsOf(opened, 0), bitsOf(opened, 1)]).toEqual([16, 4.5]);
});

test("a config is told in the lines that matter, also where it is nested", () => {
  expect(configLines({ model_type: "a", num_hidden_layers: 3, text_config: { hidden_size: 64 }, quantization_config: { quant_method: "fp8", weight_block_size: [128, 128], modules: { a: 1 } } })).toEqual([
    ["model type", "a"],
    ["layers", "3"],
    ["hidden size", "64"],
    ["quantization: quant_method", "fp8"],
    ["quantization: weight_block_size", "128, 128"],
  ]);
  for (const config of [null, [], "x", 3]) expect(configLines(config)).toEqual([]);
});
