// Extremes of the difference of two layers, in cells: for the heat map of what differs.

import type { Cells } from "../../protocol/look.ts";
import type { Context } from "../context.ts";
import { layerOf } from "./reduce.ts";
import { bandsOf, type Matrix, sightOf } from "./sights.ts";

/** Rows that are taken out of the module at once. */
const CHUNK = 1 << 18;

/** Extremes of `output - reference` between edges. Both are cut into the same bands. */
export async function differenceCells(context: Context, reference: Matrix, output: Matrix, rowEdges: number[], colEdges: number[]): Promise<Cells> {
  const [rows, cols] = [rowEdges.length - 1, colEdges.length - 1];
  const found: Cells = { rows, cols, max: new Float32Array(rows * cols).fill(NaN), min: new Float32Array(rows * cols).fill(NaN), nan: new Uint32Array(rows * cols) };
  const columns = columnCells(colEdges);
  const [first, last] = [colEdges[0]!, colEdges[cols]!];
  const step = Math.max(1, Math.floor(CHUNK / Math.max(1, last - first)));
  let cellRow = 0;
  for (let row = rowEdges[0]!; row < rowEdges[rows]!; ) {
    while (row >= rowEdges[cellRow + 1]!) cellRow += 1;
    const [bandA] = bandsOf(reference, row, row + 1);
    const [bandB] = bandsOf(output, row, row + 1);
    const end = Math.min(row + step, rowEdges[cellRow + 1]!, bandA!.end, bandB!.end);
    const numbers = async (matrix: Matrix, band: { start: number; end: number }) => {
      const sight = await sightOf(context, matrix, band);
      const rect = new context.library.Rect(row - band.start, end - band.start, first, last);
      const taken = sight.numbers(layerOf(context.library, matrix.layer), rect);
      rect.free();
      return taken;
    };
    const a = await numbers(reference, bandA!);
    const b = await numbers(output, bandB!);
    addRows(found, cellRow, columns, a, b);
    row = end;
    await context.breathe();
  }
  return found;
}

/** The cell of each column. */
function columnCells(edges: number[]): Uint32Array {
  const [first, last] = [edges[0]!, edges.at(-1)!];
  const cells = new Uint32Array(last - first);
  for (let cell = 0; cell + 1 < edges.length; cell++) cells.fill(cell, edges[cell]! - first, edges[cell + 1]! - first);
  return cells;
}

/** Adds rows that all lie in one row of cells. Two numbers that are the same, NaN included, do not differ. */
export function addRows(found: Cells, cellRow: number, columns: Uint32Array, a: Float32Array, b: Float32Array): void {
  const width = columns.length;
  for (let i = 0; i < a.length; i++) {
    const cell = cellRow * found.cols + columns[i % width]!;
    const [x, y] = [a[i]!, b[i]!];
    const difference = x === y || (Number.isNaN(x) && Number.isNaN(y)) ? 0 : y - x;
    if (Number.isNaN(difference)) {
      found.nan[cell]! += 1;
      continue;
    }
    if (!(found.max[cell]! >= difference)) found.max[cell] = difference;
    if (!(found.min[cell]! <= difference)) found.min[cell] = difference;
  }
}
