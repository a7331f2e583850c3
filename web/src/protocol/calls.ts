// What the page asks of the worker and what it is answered: one entry a kind of request.

import type { LookCalls } from "./look.ts";
import type { OpenCalls } from "./open.ts";
import type { SurveyCalls } from "./survey.ts";

/** A kind of request with its answer. */
export interface Call<Request, Answer> {
  request: Request;
  answer: Answer;
}

export type Calls = OpenCalls & SurveyCalls & LookCalls;
export type Kind = keyof Calls;
export type RequestOf<K extends Kind> = Calls[K]["request"];
export type AnswerOf<K extends Kind> = Calls[K]["answer"];

/** How far a request has come. `total` is 0 where it is not known. */
export interface Step {
  /** The work in words, such as "reading scales". */
  what: string;
  done: number;
  total: number;
}

/** What went wrong, in words that say what to do next. */
export interface Problem {
  code: ProblemCode;
  message: string;
  /** What to do next. */
  advice?: string;
}

export type ProblemCode =
  /** The request was given up on purpose. */
  | "cancelled"
  /** The connection failed: no network, no server, or no permission for other sites. */
  | "unreachable"
  /** The policy of the page forbids the address that a server sent the reader to. */
  | "elsewhere"
  /** The server sends whole files only. */
  | "no-ranges"
  | "not-found"
  /** A token is needed, or the one given is not enough. */
  | "not-allowed"
  | "too-many-requests"
  | "server"
  /** The file is another than the one that was opened. */
  | "changed"
  /** A file is shorter than its list or header says. */
  | "too-short"
  /** The contents of a file are not what they should be. */
  | "contents"
  /** Whatever is not foreseen. */
  | "other";

/** A checkpoint that is open: the one shown, and the one that it is compared with. */
export const MAIN = 0;
export const OTHER = 1;
export type Slot = typeof MAIN | typeof OTHER;

export type ToWorker =
  | { id: number; kind: Kind; request: unknown }
  | { id: number; cancel: true };

export type FromWorker =
  | { id: number; answer: unknown }
  | { id: number; problem: Problem }
  | { id: number; step: Step }
  /** Bytes that were read so far, of both checkpoints. */
  | { traffic: Traffic };

/** What was read and how it is worked on, for the status bar. */
export interface Traffic {
  /** Bytes that came from the source of each slot. */
  read: [number, number];
  /** Requests that are being answered by servers now. */
  pending: number;
}
