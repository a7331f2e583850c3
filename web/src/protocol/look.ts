// Pictures of a weight: which part of it, read how, reduced to what.

import type { BlockStats, BlockSteps, ErrorStats, GlobalScaleUse, Judgement, NibbleOrder, ScaleOfBlock, ScaleStats, ScaleUse, Score, ValueStats } from "blockscale-wasm";
import type { Call, Slot } from "./calls.ts";

/** How bytes are read where that is not as the file says. */
export interface Reading {
  nibbles?: NibbleOrder;
  layout?: string;
  use?: ScaleUse;
  global?: GlobalScaleUse;
}

/** One matrix of a weight, read in some way. */
export interface Subject {
  checkpoint: Slot;
  weight: number;
  matrix: number;
  reading: Reading;
}

/** The scales of blocks, or the numbers that the weight stands for. */
export type LayerName = "scales" | "values";

/** Extremes of the cells of a grid, row by row; NaN where a cell has no numbers. */
export interface Cells {
  rows: number;
  cols: number;
  max: Float32Array;
  min: Float32Array;
  /** Numbers of each cell that are NaN. */
  nan: Uint32Array;
}

/** How much of a weight is looked at: some rows, spread evenly, or all. */
export type Share = "some" | "all";

export interface ScaleFacts {
  /** Rows and columns of the plane, and how many rows of it were read. */
  rows: number;
  cols: number;
  rowsSeen: number;
  stats: ScaleStats;
  /** Numbers, both levels as one, below which 0.5 %, a half and 99.5 % of all lie. */
  quantiles: [number, number, number];
  /** Blocks far beyond these of the rows that were read, and at most 64 of them, the farthest first. */
  outlierCount: number;
  outliers: { row: number; col: number; value: number }[];
}

export interface ValueFacts {
  rows: number;
  cols: number;
  rowsSeen: number;
  values: ValueStats;
  /** Where the weight is of codes under scales. */
  blocks: BlockStats | null;
  /** Magnitudes below which a half and 99.5 % lie. */
  quantiles: [number, number];
  /** The scale in the middle of those that were seen; null where there are none. */
  medianScale: number | null;
  edges: Float32Array;
  /** Below the first edge, between each two, from the last on. */
  counts: Float64Array;
  nan: number;
}

/** Extremes and means of pieces along rows or columns. */
export interface Profiled {
  edges: Float64Array;
  max: Float32Array;
  min: Float32Array;
  mean: Float32Array;
}

export interface Pointed {
  value: number;
  /** How the scale is made; null for values. */
  scale: ScaleOfBlock | null;
}

/** One row of a block, step by step, with the reading that it was made in. */
export interface Inspected {
  steps: BlockSteps;
  /** Bits of an element. */
  codeBits: number;
  element: string;
  /** The value of each code, where there are at most 16. */
  values: number[] | null;
}

export interface Compared {
  rows: number;
  cols: number;
  rowsSeen: number;
  total: ErrorStats;
  /** Scale against scale, where both have planes of one size. */
  pairs: { edges: Float64Array; counts: Float64Array; left: number } | null;
}

export interface LookCalls {
  /** Extremes of cells between these edges: for tiles of heat maps. */
  cells: Call<{ subject: Subject; layer: LayerName; rowEdges: number[]; colEdges: number[] }, Cells>;
  /** Extremes of the second less the first, in cells. */
  differenceCells: Call<{ reference: Subject; output: Subject; layer: LayerName; rowEdges: number[]; colEdges: number[] }, Cells>;
  /** Bytes that cells of those rows have to wait for. */
  missing: Call<{ subject: Subject; layer: LayerName; row: number; rowEnd: number }, number>;
  /** What the scales are like. */
  scaleFacts: Call<{ subject: Subject; share: Share }, ScaleFacts>;
  /** What the numbers are like. */
  valueFacts: Call<{ subject: Subject; share: Share }, ValueFacts>;
  profile: Call<{ subject: Subject; layer: LayerName; along: "rows" | "cols"; pieces: number }, Profiled>;
  /** The number at one place of a layer. */
  point: Call<{ subject: Subject; layer: LayerName; row: number; col: number }, Pointed>;
  block: Call<{ subject: Subject; row: number; block: number }, Inspected>;
  /** How well the reading explains some of the rows. */
  score: Call<{ subject: Subject }, Score>;
  /** What the bytes alone say of how they are meant; null where they are not to be judged. */
  judge: Call<{ checkpoint: Slot; weight: number; matrix: number }, Judgement | null>;
  /** Orders of scales that the weight has room for. */
  orders: Call<{ checkpoint: Slot; weight: number }, string[]>;
  /** How far the second is from the first. */
  compare: Call<{ reference: Subject; output: Subject; share: Share }, Compared>;
}
