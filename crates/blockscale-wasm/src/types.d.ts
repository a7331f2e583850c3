/** A number of any kind: what JSON lacks is spelled out. */
export type AnyNumber = number | "NaN" | "Infinity" | "-Infinity";
export type NibbleOrder = "low-first" | "high-first";
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
  config: unknown;
  hfQuantConfig: unknown;
}

export interface WeightPart extends Piece { name: string; dtype: string; shape: number[] }

export interface WeightDetails {
  name: string;
  format: string;
  element: string | null;
  layout: string;
  shape: number[];
  matrices: number;
  rows: number;
  cols: number;
  scalePlane: {
    rows: number; cols: number; element: string; blockRows: number; blockCols: number;
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
  mean: AnyNumber; rms: AnyNumber; maxAbs: AnyNumber;
}

export interface ScaleStats {
  count: number;
  element: string;
  counts: number[];
  countsBy: "byte" | "exponent";
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
  maxAbsError: AnyNumber; specialMismatch: number; exact: boolean;
}

/** The bits of a code by their meaning. */
export interface Fields {
  sign: number | null;
  exponent: number; exponentBits: number;
  mantissa: number; mantissaBits: number;
}

/** One row of a block; `unrounded` is what the next number was rounded from. */
export interface BlockSteps {
  firstCol: number;
  scale: {
    bytes: number[]; element: string; fields: Fields | null; block: AnyNumber;
    direction: GlobalScaleUse; global: AnyNumber | null; unrounded: AnyNumber; scale: AnyNumber;
  };
  elements: {
    code: number; fields: Fields;
    element: AnyNumber; unrounded: AnyNumber; value: AnyNumber; bf16: AnyNumber;
  }[];
}
