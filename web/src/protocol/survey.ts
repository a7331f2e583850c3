// The same few numbers of many weights, from a sample of each; and what is found by them.

import type { FoundFault, SurveyColumn } from "blockscale-wasm";
import type { Call, Slot } from "./calls.ts";

export const SCALE_COLUMNS = [
  "rms", "maxAbs", "peak", "zeros", "notFinite", "saturated", "blockMaximum", "scaleMin", "scaleMax", "scaleOnes", "scaleMedianLog2", "globalScale",
] as const satisfies readonly SurveyColumn[];

/** Entry `i` of each is of weight `i` of the request, NaN where it has no such number. */
export type SurveyColumns = Record<(typeof SCALE_COLUMNS)[number], Float64Array>;

export interface SurveyCalls {
  /** Some 64 KiB of each of these weights. */
  survey: Call<{ checkpoint: Slot; weights: Uint32Array }, SurveyColumns>;
  /** What is wrong with the checkpoint, what was surveyed included. */
  surveyFindings: Call<{ checkpoint: Slot }, FoundFault[]>;
  /** How far weights are from those of the other checkpoint, whose numbers are in `others`: dB, infinite where all is equal. */
  surveyErrors: Call<{ weights: Uint32Array; others: Uint32Array }, { sqnr: Float64Array }>;
}
