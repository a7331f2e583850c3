import { expect, test } from "vitest";
import { findingsByWeight, weightOf } from "../src/list/findings.ts";
import { ListModel } from "../src/list/model.ts";
import { EVERYTHING, fitting } from "../src/list/query.ts";
import { Names, type Opened } from "../src/opened.ts";
import type { Table } from "../src/protocol/open.ts";
import { treeOf } from "../src/worker/tree.ts";

const NAMES = ["embed.weight", "layers.0.wo.weight", "layers.0.wq.weight", "layers.1.wo.weight", "layers.1.wq.weight"];

function opened(names: string[] = NAMES): Opened {
  const text = names.join("\n");
  const table: Table = {
    length: names.length,
    names: text,
    formats: ["BF16", "NVFP4"],
    formatIds: Uint32Array.from(names, (name) => Number(name.startsWith("layers"))),
    layouts: ["linear"],
    layoutIds: new Uint32Array(names.length),
    matrices: new Float64Array(names.length).fill(1),
    rows: new Float64Array(names.length).fill(1),
    cols: new Float64Array(names.length).fill(1),
    bytes: Float64Array.from(names, (_, at) => at * 10),
  };
  const findings = [{ severity: "error" as const, code: "x", file: null, tensor: "layers.1.wo.weight_scale", message: "m", fix: null }];
  const summary = { modelType: null, dialect: null, shards: [], tensors: 0, tensorBytes: 0, weights: names.length, refusals: [], undecided: [], unreadShards: [], tooWide: [], config: null, hfQuantConfig: null };
  return { checkpoint: 0, name: "m", reach: "local", summary, table, tree: treeOf(text), findings, ms: 0, source: { kind: "sample", name: "clean" }, names: new Names(table) };
}

function shown(model: ListModel): string[] {
  return Array.from({ length: model.length }, (_, at) => model.row(at).label);
}

test("names are found whole and only whole", () => {
  const { names } = opened(["a.b", "b", "a", "b.a.b"]);
  expect(["a.b", "b", "a", "b.a.b", "a.b.a", "", "b\na"].map((name) => names.find(name))).toEqual([0, 1, 2, 3, undefined, undefined, undefined]);
  expect([0, 1, 2, 3, 4].map((weight) => names.name(weight))).toEqual(["a.b", "b", "a", "b.a.b", ""]);
});

test("words narrow, all of them, in any case", () => {
  const { names, table } = opened();
  const fits = (text: string, formats: string[] = []) => {
    const found = fitting({ text, formats }, names, table);
    return found && NAMES.filter((_, weight) => found[weight]);
  };
  expect(fits("")).toBeUndefined();
  expect(fits("WO layers.1")).toEqual(["layers.1.wo.weight"]);
  expect(fits("layers.?.w?.*")).toEqual(NAMES.slice(1));
  expect(fits("layers.1.*")).toEqual(NAMES.slice(3));
  expect(fits("wo.*")).toEqual([]);
  expect(fits("(")).toEqual([]);
  expect(fits("", ["BF16"])).toEqual(["embed.weight"]);
  expect(fits("w", ["NVFP4"])).toEqual(NAMES.slice(1));
});

test("a list that is narrowed is open, and as it was when that ends", () => {
  const many = [...NAMES, ...Array.from({ length: 60 }, (_, at) => `tail.${at}.a`)];
  const model = new ListModel(opened(many));
  expect(shown(model)).toEqual(["embed.weight", "layers", "tail"]);
  model.arrange("name", { text: "1.wo", formats: [] });
  expect(shown(model)).toEqual(["layers", "1", "wo.weight"]);
  model.arrange("name", EVERYTHING);
  expect(shown(model)).toEqual(["embed.weight", "layers", "tail"]);
});

test("in another order the list is flat, and the current row stays with its weight", () => {
  const model = new ListModel(opened());
  model.show(2);
  model.arrange("size", EVERYTHING);
  expect(shown(model)).toEqual([...NAMES].reverse());
  model.show(2);
  model.arrange("findings", EVERYTHING);
  expect(model.row(0)).toMatchObject({ label: "layers.1.wo.weight", findings: 1, severity: "error" });
  expect(model.row(model.current).label).toBe("layers.0.wq.weight");
});

test("weights that were not measured come after those that were", () => {
  const model = new ListModel(opened());
  model.arrange("sqnr", EVERYTHING);
  model.setMeasured({ peak: new Float64Array(5), sqnr: Float64Array.of(Number.NaN, 40, 20, Number.POSITIVE_INFINITY, Number.NaN) });
  expect(shown(model)).toEqual(["layers.0.wq.weight", "layers.0.wo.weight", "layers.1.wo.weight", "embed.weight", "layers.1.wq.weight"]);
  expect(model.measured(0)).toEqual({ peak: 0, sqnr: undefined });
});

test("typing goes to the next label that starts so", () => {
  const model = new ListModel(opened());
  model.current = 0;
  expect(model.row(model.startingWith("l") ?? -1).label).toBe("layers");
  expect(model.startingWith("zzz")).toBeUndefined();
});

test("closing a module hides what is in it, and its parent is found", () => {
  const model = new ListModel(opened());
  const rows = shown(model);
  const inner = rows.indexOf("0");
  expect(model.row(model.parent(inner) ?? -1).label).toBe("layers");
  model.toggle(rows.indexOf("layers"));
  expect(shown(model)).toEqual(["embed.weight", "layers"]);
  model.show(4);
  expect(model.row(model.current).label).toBe("wq.weight");
});

test("what is found in a part is told of its weight", () => {
  const { names, findings } = opened();
  expect(weightOf("layers.1.wo.weight_scale_2", names)).toBe(3);
  expect(weightOf("layers.1.wo.weight", names)).toBe(3);
  expect(weightOf("layers.1.wo.bias", names)).toBeUndefined();
  expect([...findingsByWeight(findings, names).counts]).toEqual([0, 0, 0, 1, 0]);
});
