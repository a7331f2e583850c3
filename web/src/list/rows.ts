// The rows that a list shows: nodes of the tree that are open, or weights in some order.

import { NO_NODE, NO_WEIGHT, type Tree } from "../worker/tree.ts";

/** Which modules a person opened or closed. */
export class Openness {
  readonly #open: Uint8Array;

  constructor(tree: Tree) {
    this.#open = new Uint8Array(tree.length);
  }

  has(node: number): boolean {
    return this.#open[node] === 1;
  }

  set(node: number, open: "open" | "closed"): void {
    this.#open[node] = open === "open" ? 1 : 0;
  }

  all(open: "open" | "closed"): void {
    this.#open.fill(open === "open" ? 1 : 0);
  }
}

/** The nodes that are to be seen, top down. `fits` has a byte a weight, where not all fit. */
export function visibleNodes(tree: Tree, openness: Openness, fits: Uint8Array | undefined): Uint32Array {
  const counts = fits && fittingIn(tree, fits);
  const rows = new Uint32Array(tree.length);
  let count = 0;
  for (let node = 0; node < tree.length; ) {
    if (counts && counts[node] === 0) {
      node += tree.size[node] ?? 1;
      continue;
    }
    rows[count] = node;
    count += 1;
    const closed = tree.weight[node] === NO_WEIGHT && !openness.has(node);
    node += closed ? (tree.size[node] ?? 1) : 1;
  }
  return rows.slice(0, count);
}

/** How many weights that fit are in each node. */
export function fittingIn(tree: Tree, fits: Uint8Array): Uint32Array {
  const counts = new Uint32Array(tree.length);
  // Sums up to here; a node's own are the difference over its size.
  const before = new Uint32Array(tree.length + 1);
  for (let node = 0; node < tree.length; node += 1) {
    const weight = tree.weight[node] ?? NO_WEIGHT;
    before[node + 1] = (before[node] ?? 0) + (weight === NO_WEIGHT ? 0 : (fits[weight] ?? 0));
  }
  for (let node = 0; node < tree.length; node += 1) {
    counts[node] = (before[node + (tree.size[node] ?? 1)] ?? 0) - (before[node] ?? 0);
  }
  return counts;
}

/** The modules around a node, the outermost first. */
export function around(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let at = tree.parent[node] ?? NO_NODE; at !== NO_NODE; at = tree.parent[at] ?? NO_NODE) path.unshift(at);
  return path;
}

/** The node of a weight. */
export function nodeOf(tree: Tree, weight: number): number | undefined {
  const node = tree.weight.indexOf(weight);
  return node < 0 ? undefined : node;
}

/** Weights in falling order of a column, those without a number last; equal ones in their own order. */
export function sortedWeights(column: ArrayLike<number>, fits: Uint8Array | undefined): Uint32Array {
  const weights: number[] = [];
  for (let weight = 0; weight < column.length; weight += 1) {
    if (!fits || fits[weight]) weights.push(weight);
  }
  const none = (weight: number) => Number.isNaN(column[weight] ?? Number.NaN);
  return Uint32Array.from(weights).sort((a, b) => {
    if (none(a) || none(b)) return Number(none(a)) - Number(none(b)) || a - b;
    const [first, second] = [column[a] as number, column[b] as number];
    return first === second ? a - b : first > second ? -1 : 1;
  });
}
