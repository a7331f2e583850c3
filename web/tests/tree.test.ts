import { expect, test } from "vitest";
import { fittingIn, around, nodeOf, Openness, sortedWeights, visibleNodes } from "../src/list/rows.ts";
import { NO_WEIGHT, type Tree, treeOf } from "../src/worker/tree.ts";

const NAMES = ["embed", "layers.0.attn.wo", "layers.0.attn.wq", "layers.0.norm", "layers.10.norm", "layers.2.norm", "head.weight"];
const TEXT = NAMES.join("\n");

function labels(tree: Tree, text: string, nodes: Iterable<number>): string[] {
  return [...nodes].map((node) => "  ".repeat(tree.depth[node] ?? 0) + text.slice(tree.labelStart[node], tree.labelEnd[node]));
}

function all(tree: Tree): number[] {
  return Array.from({ length: tree.length }, (_, node) => node);
}

test("modules hold their weights, chains are one row, numbers are in order of size", () => {
  const tree = treeOf(TEXT);
  expect(labels(tree, TEXT, all(tree))).toEqual([
    "embed", "layers", "  0", "    attn", "      wo", "      wq", "    norm", "  2.norm", "  10.norm", "head.weight",
  ]);
});

test("each weight is one leaf, and modules count theirs", () => {
  const tree = treeOf(TEXT);
  const leaves = [...tree.weight].filter((weight) => weight !== NO_WEIGHT).sort((a, b) => a - b);
  expect(leaves).toEqual(NAMES.map((_, weight) => weight));
  const layers = labels(tree, TEXT, all(tree)).indexOf("layers");
  expect(tree.weights[layers]).toBe(5);
  expect(tree.size[layers]).toBe(8);
  expect([tree.position[layers], tree.siblings[layers]]).toEqual([2, 3]);
});

test("a weight that is a module as well, and two of one name, are leaves of their own", () => {
  const text = "a\na.b\na.b";
  const tree = treeOf(text);
  const leaves = [...tree.weight].filter((weight) => weight !== NO_WEIGHT).sort();
  expect(leaves).toEqual([0, 1, 2]);
});

test("odd names make a tree all the same", () => {
  for (const text of ["", "a", ".", "..a", "a..b", "a.\n.a", "x\n\ny", `${"a.".repeat(3000)}b`]) {
    const tree = treeOf(text);
    const weights = text === "" ? 0 : text.split("\n").length;
    expect([...tree.weight].filter((weight) => weight !== NO_WEIGHT)).toHaveLength(weights);
    for (const node of all(tree)) {
      const end = node + (tree.size[node] ?? 0);
      expect(end).toBeLessThanOrEqual(tree.length);
    }
  }
});

test("only what is open is to be seen", () => {
  const tree = treeOf(TEXT);
  const openness = new Openness(tree);
  expect(labels(tree, TEXT, visibleNodes(tree, openness, undefined))).toEqual(["embed", "layers", "head.weight"]);
  openness.set(1, "open");
  expect(labels(tree, TEXT, visibleNodes(tree, openness, undefined))).toEqual(["embed", "layers", "  0", "  2.norm", "  10.norm", "head.weight"]);
});

test("what does not fit is hidden, with the modules that hold nothing else", () => {
  const tree = treeOf(TEXT);
  const openness = new Openness(tree);
  openness.all("open");
  const fits = Uint8Array.from(NAMES, (name) => Number(name.endsWith("wq")));
  expect(labels(tree, TEXT, visibleNodes(tree, openness, fits))).toEqual(["layers", "  0", "    attn", "      wq"]);
  expect(fittingIn(tree, fits)[1]).toBe(1);
});

test("the way to a weight leads through its modules", () => {
  const tree = treeOf(TEXT);
  const node = nodeOf(tree, 2) ?? -1;
  expect(labels(tree, TEXT, around(tree, node)).map((label) => label.trim())).toEqual(["layers", "0", "attn"]);
});

test("weights are in falling order, those without a number last", () => {
  expect([...sortedWeights([1, Number.NaN, 3, 3, 2], undefined)]).toEqual([2, 3, 4, 0, 1]);
  expect([...sortedWeights([1, 5, 3], Uint8Array.of(1, 0, 1))]).toEqual([2, 0]);
});

test("a hundred thousand names make their tree, and each is found in it", () => {
  const names = Array.from({ length: 100_000 }, (_, at) => `layers.${at % 61}.experts.${Math.floor(at / 61)}.w${at % 3}`);
  const tree = treeOf(names.join("\n"));
  expect(tree.weight.filter((weight) => weight !== NO_WEIGHT)).toHaveLength(100_000);
  expect(tree.weights.reduce((most, count) => Math.max(most, count), 0)).toBe(100_000);
});
