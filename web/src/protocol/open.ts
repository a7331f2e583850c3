// Opening checkpoints, and what is known of them as a whole.

import type { FoundFault, Summary, WeightDetails } from "blockscale-wasm";
import type { SourceRef } from "../sources/ref.ts";
import type { Tree } from "../worker/tree.ts";
import type { Call, Slot } from "./calls.ts";

export interface OpenCalls {
  /** Opens a checkpoint; what the slot held before is closed once that has worked. */
  open: Call<OpenRequest, OpenAnswer>;
  /**
   * Reads the headers of at most so many more shards of a checkpoint that is open in part. Weights
   * keep their names, not their numbers.
   */
  readOn: Call<{ checkpoint: Slot; shards: number }, OpenAnswer>;
  /** Closes the checkpoint of a slot. */
  close: Call<{ checkpoint: Slot }, null>;
  /** One weight with its parts. */
  weight: Call<{ checkpoint: Slot; weight: number }, WeightDetails>;
  /** The checkpoints that `blockscale view` serves beside the page. */
  served: Call<Record<string, never>, ServedCheckpoint[]>;
  /** The engine that computes. */
  engine: Call<Record<string, never>, Engine>;
}

export interface ServedCheckpoint {
  id: string;
  role: "checkpoint" | "reference";
  name: string;
}

export interface OpenRequest {
  checkpoint: Slot;
  source: SourceRef;
  /** Files that were dropped or chosen, for a source of kind `files`. */
  files?: ChosenFile[];
  /** For a Hub; kept in memory only. */
  token?: string;
}

/** A local file under its name inside the folder that was chosen. */
export interface ChosenFile {
  name: string;
  file: File;
}

export interface OpenAnswer {
  checkpoint: Slot;
  /** What a person calls it. */
  name: string;
  /** Whether reading costs a connection. */
  reach: "local" | "remote";
  summary: Summary;
  table: Table;
  tree: Tree;
  findings: FoundFault[];
  /** Milliseconds from the request to this answer. */
  ms: number;
}

/** The weights in columns: entry `i` of each is weight `i`. */
export interface Table {
  length: number;
  /** All names, a line break between two. */
  names: string;
  formats: string[];
  formatIds: Uint32Array;
  layouts: string[];
  layoutIds: Uint32Array;
  matrices: Float64Array;
  rows: Float64Array;
  cols: Float64Array;
  bytes: Float64Array;
}

export interface Engine {
  version: string;
  /** The build of the module. */
  build: "simd128" | "baseline";
  /** The names of scale layouts, `linear` first. */
  layouts: string[];
}
