// Names of weights as a tree of modules, in columns: made in the worker, since there may be 100,000.

/** Nodes from the root down, each before its children. Entry `i` of each column is node `i`. */
export interface Tree {
  length: number;
  /** Steps from the top: 0 for the outermost modules. */
  depth: Uint8Array;
  /** The weight of a leaf; `NO_WEIGHT` for a module. */
  weight: Uint32Array;
  /** Nodes in it, itself included: the next one beside it is `i + size[i]`. */
  size: Uint32Array;
  /** How many weights are in it. */
  weights: Uint32Array;
  /** The module around it, or `NO_NODE`. */
  parent: Uint32Array;
  /** Its place among its siblings, from 1, and how many these are. */
  position: Uint32Array;
  siblings: Uint32Array;
  /** Where its label lies in the text of all names. */
  labelStart: Uint32Array;
  labelEnd: Uint32Array;
}

export const NO_WEIGHT = 0xffff_ffff;
export const NO_NODE = 0xffff_ffff;

interface Module {
  children: Map<string, Module>;
  /** The weight of that name, or `NO_WEIGHT`. */
  weight: number;
  start: number;
  end: number;
}

/** The tree of names that are joined by line breaks. A chain of modules with nothing beside it is one node. */
export function treeOf(names: string): Tree {
  const root: Module = { children: new Map(), weight: NO_WEIGHT, start: 0, end: 0 };
  let nodes = 0;
  let weight = 0;
  for (let at = 0; at < names.length; weight += 1) {
    const lineEnd = names.indexOf("\n", at);
    const end = lineEnd < 0 ? names.length : lineEnd;
    let module = root;
    for (let from = at; from <= end; ) {
      const dot = names.indexOf(".", from);
      const to = dot < 0 || dot > end ? end : dot;
      const label = names.slice(from, to);
      let child = module.children.get(label);
      if (!child) {
        child = { children: new Map(), weight: NO_WEIGHT, start: from, end: to };
        module.children.set(label, child);
        nodes += 1;
      }
      module = child;
      from = to + 1;
    }
    if (module.weight === NO_WEIGHT) module.weight = weight;
    else {
      // Two weights of one name are two leaves.
      module.children.set(`\n${weight}`, { children: new Map(), weight, start: module.start, end: module.end });
      nodes += 1;
    }
    at = end + 1;
  }
  return laidOut(root, nodes);
}

function laidOut(root: Module, most: number): Tree {
  // A module that is a weight as well has a leaf of its own inside.
  const room = most * 2;
  const tree: Tree = {
    length: 0,
    depth: new Uint8Array(room),
    weight: new Uint32Array(room).fill(NO_WEIGHT),
    size: new Uint32Array(room),
    weights: new Uint32Array(room),
    parent: new Uint32Array(room),
    position: new Uint32Array(room),
    siblings: new Uint32Array(room),
    labelStart: new Uint32Array(room),
    labelEnd: new Uint32Array(room),
  };
  const add = (place: Place, start: number, end: number, weight: number): number => {
    const node = tree.length;
    tree.length += 1;
    tree.depth[node] = Math.min(place.depth, 255);
    tree.weight[node] = weight;
    tree.size[node] = 1;
    tree.weights[node] = weight === NO_WEIGHT ? 0 : 1;
    tree.parent[node] = place.parent;
    tree.position[node] = place.position;
    tree.siblings[node] = place.siblings;
    tree.labelStart[node] = start;
    tree.labelEnd[node] = end;
    return node;
  };
  /** Adds a module and all in it; the result is how many weights that are. */
  const walk = (module: Module, place: Place): number => {
    const inner = endOfChain(module);
    if (inner.children.size === 0) {
      add(place, module.start, inner.end, inner.weight);
      return 1;
    }
    const node = add(place, module.start, inner.end, NO_WEIGHT);
    const own = inner.weight === NO_WEIGHT ? 0 : 1;
    const siblings = inner.children.size + own;
    const below = { depth: place.depth + 1, parent: node, siblings };
    if (own) add({ ...below, position: 1 }, inner.start, inner.end, inner.weight);
    let weights = own;
    for (const [index, child] of ordered(inner.children).entries()) {
      weights += walk(child, { ...below, position: index + 1 + own });
    }
    tree.size[node] = tree.length - node;
    tree.weights[node] = weights;
    return weights;
  };
  for (const [index, child] of ordered(root.children).entries()) {
    walk(child, { depth: 0, parent: NO_NODE, siblings: root.children.size, position: index + 1 });
  }
  return trimmed(tree);
}

interface Place {
  depth: number;
  parent: number;
  position: number;
  siblings: number;
}

/** `a` with nothing in it but `b` is one node, `a.b`. */
function endOfChain(module: Module): Module {
  let inner = module;
  while (inner.weight === NO_WEIGHT && inner.children.size === 1) {
    const [only] = inner.children.values();
    // A second weight of the same name is no longer name.
    if (!only || only.start <= inner.end) break;
    inner = only;
  }
  return inner;
}

/** Numbers by size, other labels by name, as `layers.2` comes before `layers.10`. */
function ordered(children: Map<string, Module>): Module[] {
  const all = [...children];
  const numbers = all.every(([label]) => /^\d+$/.test(label));
  if (numbers) all.sort(([a], [b]) => Number(a) - Number(b));
  return all.map(([, module]) => module);
}

function trimmed(tree: Tree): Tree {
  const { length } = tree;
  return {
    length,
    depth: tree.depth.slice(0, length),
    weight: tree.weight.slice(0, length),
    size: tree.size.slice(0, length),
    weights: tree.weights.slice(0, length),
    parent: tree.parent.slice(0, length),
    position: tree.position.slice(0, length),
    siblings: tree.siblings.slice(0, length),
    labelStart: tree.labelStart.slice(0, length),
    labelEnd: tree.labelEnd.slice(0, length),
  };
}
