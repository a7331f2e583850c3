// The window of a heat map as an address has it: `row,col,rows a pixel,columns a pixel`, in CSS pixels.

import type { View } from "../../pictures/heat/view.ts";

export function writeView(view: View, ratio: number): string {
  const short = (x: number) => String(Number(x.toPrecision(5)));
  return [view.row, view.col, view.rowsPerPx * ratio, view.colsPerPx * ratio].map(short).join(",");
}

/** The view of an address; none where it is not one. */
export function readView(text: string | undefined, ratio: number): View | undefined {
  const numbers = (text ?? "").split(",").map(Number);
  const [row, col, rows, cols] = numbers as [number, number, number, number];
  if (numbers.length !== 4 || !numbers.every(Number.isFinite) || row < 0 || col < 0 || rows <= 0 || cols <= 0) return undefined;
  return { row, col, rowsPerPx: rows / ratio, colsPerPx: cols / ratio };
}

/** A row and a block, or column, as an address has them. */
export function readSpot(text: string | undefined, plane: { rows: number; cols: number }): { row: number; col: number } | undefined {
  const match = /^(\d+)\.(\d+)$/.exec(text ?? "");
  if (!match) return undefined;
  const [row, col] = [Number(match[1]), Number(match[2])];
  return row < plane.rows && col < plane.cols ? { row, col } : undefined;
}
