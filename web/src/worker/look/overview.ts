// A small picture of a large matrix, made in one pass over it: what is coarser comes from there at once.

import type { Context, Held } from "../context.ts";
import { evenEdges } from "./grid.ts";
import type { Sums } from "./reduce.ts";
import type { Matrix } from "./sights.ts";

/** Cells of an overview, one way: as many as a screen shows. */
const CELLS = 512;
/** Overviews that are kept of a checkpoint, of some 7 MiB each. */
const KEPT = 4;

const stores = new WeakMap<Held, Map<string, Promise<Sums>>>();

export function overviewEdges(matrix: Matrix): [rowEdges: number[], colEdges: number[]] {
  return [evenEdges(matrix.rows, CELLS), evenEdges(matrix.cols, CELLS)];
}

/** Numbers of a cell, down and across. */
export function overviewStep(matrix: Matrix): { rows: number; cols: number } {
  const step = (length: number) => 2 ** Math.max(0, Math.ceil(Math.log2(length / CELLS)));
  return { rows: step(matrix.rows), cols: step(matrix.cols) };
}

/** Whether cells with these edges are made of whole cells of the overview. */
export function fits(matrix: Matrix, rowEdges: readonly number[], colEdges: readonly number[]): boolean {
  const step = overviewStep(matrix);
  const whole = (edges: readonly number[], step: number, end: number) => edges.every((edge) => edge % step === 0 || edge === end);
  return whole(rowEdges, step.rows, matrix.rows) && whole(colEdges, step.cols, matrix.cols);
}

/** The overview of a matrix, made by `make` if there is none. */
export async function overviewOf(context: Context, matrix: Matrix, make: () => Promise<Sums>): Promise<Sums> {
  let kept = stores.get(matrix.held);
  if (!kept) stores.set(matrix.held, (kept = new Map()));
  const { checkpoint: _, ...subject } = matrix.subject;
  const key = JSON.stringify([subject, matrix.layer]);
  for (;;) {
    const found = kept.get(key);
    if (!found) break;
    try {
      return await found;
    } catch (error) {
      // The request that made it was cancelled: that is no reason to fail this one.
      if (context.signal.aborted || kept.get(key) === found) throw error;
    }
  }
  const made = make();
  kept.set(key, made);
  made.catch(() => kept.get(key) === made && kept.delete(key));
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
  return made;
}
