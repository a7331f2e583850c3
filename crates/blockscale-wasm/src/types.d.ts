/** A number of any kind: what JSON lacks is spelled out. */
export type AnyNumber = number | "NaN" | "Infinity" | "-Infinity";
export type NibbleOrder = "low-first" | "high-first" | "halves";
export type ScaleUse = "multiplies" | "divides";
export type SignForm = "magnitude" | "twos-complement";
export type GlobalScaleUse = "none" | "multiplier" | "divisor";
export type PartRole =
  | "codes" | "block-scale" | "global-scale" | "input-scale"
  | "zero-point" | "group-index" | "stated-shape";

/** Bytes of a file, the end not included. */
export interface Want { file: string; start: number; end: number }
export interface Piece extends Want { role: PartRole }

export interface Summary {
  modelType: string | null;
  dialect: string | null;
  shards: { name: string; bytes: number }[];
  tensors: number;
  tensorBytes: number;
  weights: number;
  refusals: string[];
  /** Tensors whose scale may lie in a shard that was not read. */
  undecided: string[];
  /** Tensors of which an extent is 2^32 or more: they cannot be counted here, and are left out. */
  tooWide: string[];
  /** Shards whose headers were not read; none of a checkpoint that was opened whole. */
  unreadShards: string[];
  config: unknown;
  hfQuantConfig: unknown;
}

export interface ShardProgress { name: string; bytes: number; progress: "unread" | "wanted" | "read" }

export interface WeightPart extends Piece { name: string; dtype: string; shape: number[] }

export interface WeightDetails {
  name: string;
  format: string;
  element: string | null;
  layout: string;
  /** How the file says that the global scale is applied; null where it is in no block format. */
  global: GlobalScaleUse | null;
  /** Whether another order of nibbles would mean something else. */
  packedNibbles: boolean;
  /** False where a part may lie in a shard that was not read: it is not decoded then. */
  settled: boolean;
  shape: number[];
  matrices: number;
  rows: number;
  cols: number;
  scalePlane: {
    rows: number; cols: number; element: string; blockRows: number; blockCols: number;
    /** Whether scales lie among the codes: read `pieces` and use `see`, not `scalePieces`. */
    needsCodes: boolean;
  } | null;
  parts: WeightPart[];
}

export interface FoundFault {
  severity: "info" | "warning" | "error";
  code: string;
  file: string | null;
  tensor: string | null;
  message: string;
  fix: string | null;
}

export interface ValueStats {
  count: number; nan: number; infinite: number; zeros: number;
  mean: AnyNumber; rms: AnyNumber; std: AnyNumber; maxAbs: AnyNumber;
}

/** How heavy tails are: outliers are above six root mean squares; the kurtosis of normal numbers is 3. */
export interface Tails { count: number; outliers: number; outlierShare: number; kurtosis: AnyNumber }

export interface ScaleStats {
  count: number;
  element: string;
  counts: number[];
  countsBy: "byte" | "exponent";
  /** What each entry of `counts` stands for: the value of a byte, or the power of two of an exponent. */
  values: AnyNumber[];
  zeros: number; negative: number; notFinite: number; ones: number; notPowerOfTwo: number;
  min: AnyNumber; max: AnyNumber;
  constant: boolean;
}

export interface BlockStats {
  element: string;
  /** By code. */
  codes: number[];
  /** The value of each code. */
  values: AnyNumber[];
  count: number; zeros: number; saturated: number;
  blocks: number; zeroBlocks: number; silenced: number;
}

export interface ErrorStats {
  count: number; finite: number; differing: number;
  sqnrDb: AnyNumber; cosine: AnyNumber; relativeL2: AnyNumber; normRatio: AnyNumber;
  maxAbsError: AnyNumber; rmsError: AnyNumber; specialMismatch: number; exact: boolean;
}

/** The bits of a code by their meaning. */
export interface Fields {
  sign: number | null;
  exponent: number; exponentBits: number;
  mantissa: number; mantissaBits: number;
}

export interface At { file: string; start: number; end: number }

/** `unrounded` is what `scale` was rounded from: product or quotient of `block` and `global`. */
export interface ScaleOfBlock {
  bytes: number[];
  /** Where they lie, if the plane is stored row by row. */
  bytesAt: At | null;
  element: string; fields: Fields | null; block: AnyNumber;
  direction: GlobalScaleUse; global: AnyNumber | null; unrounded: AnyNumber; scale: AnyNumber;
}

/**
 * One row of a block; `unrounded` is what `value` was rounded from.
 *
 * - `block`: `element` is the value of the code; times `factor`, the scale.
 * - `integers`: `element` is `code - zero` (the code itself where `zero` is null), times `factor`, the scale
 *   of the group, plus `bias` where there is one.
 * - `ggml`: `element` is the integer that ggml multiplies (E2M1 doubled), `factor` the scale (halved for
 *   E2M1); a global scale is applied behind `unrounded`.
 * - `plain`: `code` has the bits of the number.
 */
export interface BlockSteps {
  kind: "block" | "integers" | "ggml" | "plain";
  firstCol: number;
  /** The codes as they lie in the file; none where they do not lie together. */
  bytes: number[];
  bytesAt: At | null;
  scale: ScaleOfBlock | null;
  elements: {
    code: number; fields: Fields | null;
    element: AnyNumber; zero: number | null; bias: AnyNumber | null; factor: AnyNumber;
    unrounded: AnyNumber; value: AnyNumber; bf16: AnyNumber;
  }[];
}

/**
 * How well bytes fit the way in which they are read. `left` is the mean distance, in nats, of a block's
 * loudness from what its row and column say: of `numbers` the right order of scales leaves least.
 * `explained` is the share of the variance that rows and columns explain. `free` is the count of blocks
 * less rows and columns: with few of them chance fits. `blockMaximum` is the share of blocks whose
 * largest code is the element's largest.
 */
export interface Score {
  of: "numbers" | "scales";
  left: AnyNumber; explained: AnyNumber; free: AnyNumber; blockMaximum: number | null;
}

export interface Reading { text: string; scaleLayout: string; nibbles: NibbleOrder }

export interface Answer {
  question: "scale-order" | "row-order" | "nibble-order" | "sign" | "global-scale";
  certainty: "undecided" | "likely" | "decided";
  /** Probability that the best is right. */
  confidence: number;
  /** Nats between the best and the next. */
  margin: AnyNumber;
  /** The best first; `behind` counts nats: less likely by e to that power. */
  candidates: { reading: Reading; behind: AnyNumber }[];
}

/** What bytes alone tell of how they are meant; `reading` has only what is decided. */
export interface Judgement { asStored: boolean; reading: Reading; answers: Answer[] }

export type SurveyColumn =
  | "rms" | "maxAbs" | "peak" | "zeros" | "notFinite" | "saturated" | "blockMaximum"
  | "scaleMin" | "scaleMax" | "scaleOnes" | "scaleMedianLog2" | "globalScale";
