// What a handler of requests is given.

import type { Checkpoint, Piece } from "blockscale-wasm";
import type { Call, Calls, Slot, Step } from "../protocol/calls.ts";

/** The module, once it is loaded. */
export type Library = Awaited<ReturnType<typeof import("blockscale-wasm").load>>;

/** A checkpoint that is open in the worker. */
export interface Held {
  slot: Slot;
  handle: Checkpoint;
  name: string;
  reach: "local" | "remote";
  /**
   * The bytes of ranges of its files, in their order. Ranges that were read before come from
   * memory; those that are not needed any more because of `signal` are given up.
   */
  read(pieces: readonly Pick<Piece, "file" | "start" | "end">[], signal: AbortSignal): Promise<Uint8Array[]>;
  /** How many bytes of those ranges would have to be fetched. */
  missing(pieces: readonly Pick<Piece, "file" | "start" | "end">[]): number;
}

export interface Context {
  library: Library;
  /** The checkpoint of a slot; throws where none is open. */
  checkpoint(slot: Slot): Held;
  /** Ends when the request is cancelled. */
  signal: AbortSignal;
  progress(step: Step): void;
  /**
   * Lets messages in, a cancel among them, then goes on or throws. To be awaited between pieces of
   * work of some 30 ms.
   */
  breathe(): Promise<void>;
}

/** The handlers of some kinds of requests. Buffers of typed arrays in an answer are handed over, not copied. */
export type Handlers<Of = Calls> = {
  [K in keyof Of]: Of[K] extends Call<infer Request, infer Answer> ? (request: Request, context: Context) => Promise<Answer> : never;
};
