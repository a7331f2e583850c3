// The tiles that a view is drawn from: 256 x 256 cells, each cell the extremes of a power of two of numbers.

import type { Plane, Size, View } from "./view.ts";

/** Cells of a tile, one way. */
export const TILE = 256;

/** A tile by its place: a cell covers 2^rowLevel rows and 2^colLevel columns. */
export interface TileId {
  rowLevel: number;
  colLevel: number;
  tileRow: number;
  tileCol: number;
}

/** What a tile covers: numbers, and how many cells there are of them. */
export interface TileRect {
  row: number;
  rowEnd: number;
  col: number;
  colEnd: number;
  cellRows: number;
  cellCols: number;
}

/** The numbers of a tile: extremes of each cell, row by row, and how many of its numbers are NaN. */
export interface TileData {
  rows: number;
  cols: number;
  max: Float32Array;
  min: Float32Array;
  nan: Uint32Array;
}

/**
 * The level at which no cell is smaller than a pixel, so that nothing is lost when cells are drawn: a pixel
 * that takes one of two cells could miss the one block that matters.
 */
export function level(numbersPerPx: number): number {
  return Math.max(0, Math.ceil(Math.log2(numbersPerPx) - 1e-9));
}

/** The tiles that a view needs, those in the middle first. */
export function visibleTiles(view: View, plane: Plane, size: Size): TileId[] {
  const [rowLevel, colLevel] = [level(view.rowsPerPx), level(view.colsPerPx)];
  const rows = span(view.row, size.height * view.rowsPerPx, plane.rows, TILE * 2 ** rowLevel);
  const cols = span(view.col, size.width * view.colsPerPx, plane.cols, TILE * 2 ** colLevel);
  const tiles: TileId[] = [];
  for (const tileRow of rows) {
    for (const tileCol of cols) tiles.push({ rowLevel, colLevel, tileRow, tileCol });
  }
  const middle = [mean(rows), mean(cols)] as const;
  const distance = (tile: TileId) => Math.hypot(tile.tileRow - middle[0], tile.tileCol - middle[1]);
  return tiles.sort((a, b) => distance(a) - distance(b));
}

/** What a tile covers of a plane. */
export function rectOf(id: TileId, plane: Plane): TileRect {
  const [rowStep, colStep] = [2 ** id.rowLevel, 2 ** id.colLevel];
  const [row, col] = [id.tileRow * TILE * rowStep, id.tileCol * TILE * colStep];
  const rowEnd = Math.min(plane.rows, row + TILE * rowStep);
  const colEnd = Math.min(plane.cols, col + TILE * colStep);
  return {
    row,
    rowEnd,
    col,
    colEnd,
    cellRows: Math.ceil((rowEnd - row) / rowStep),
    cellCols: Math.ceil((colEnd - col) / colStep),
  };
}

/** Where the cells of a tile start, and where the last ends. */
export function edgesOf(id: TileId, plane: Plane): { rowEdges: number[]; colEdges: number[] } {
  const rect = rectOf(id, plane);
  return { rowEdges: edges(rect.row, rect.rowEnd, 2 ** id.rowLevel), colEdges: edges(rect.col, rect.colEnd, 2 ** id.colLevel) };
}

/** Edges `step` apart, the last one at `end`. */
export function edges(start: number, end: number, step: number): number[] {
  return [...Array.from({ length: Math.ceil((end - start) / step) }, (_, i) => start + i * step), end];
}

/** A tile's name in maps. */
export function keyOf(id: TileId): string {
  return `${id.rowLevel}/${id.colLevel}/${id.tileRow}/${id.tileCol}`;
}

function span(start: number, length: number, end: number, step: number): number[] {
  const first = Math.floor(Math.max(0, start) / step);
  const last = Math.ceil(Math.min(end, start + length) / step);
  return Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
}

function mean(numbers: number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0) / Math.max(1, numbers.length);
}
