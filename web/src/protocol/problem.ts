// Errors that carry what to do next.

import type { Problem, ProblemCode } from "./calls.ts";

export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(code: ProblemCode, message: string, advice?: string) {
    super(message);
    this.name = "ProblemError";
    this.problem = advice === undefined ? { code, message } : { code, message, advice };
  }
}

/** Any error as a problem: one that has no code of its own is about contents, in the library's words. */
export function problemFrom(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (isAbort(error)) return { code: "cancelled", message: "cancelled" };
  if (error instanceof RangeError || error instanceof TypeError || error instanceof WebAssembly.RuntimeError) {
    return { code: "other", message: `${error.name}: ${error.message}` };
  }
  return { code: "contents", message: error instanceof Error ? error.message : String(error) };
}

export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
