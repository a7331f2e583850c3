// Cells of heat maps and profiles, over as many bands as they need.

import type { Layer, Sight } from "blockscale-wasm";
import type { Cells, LayerName, Profiled } from "../../protocol/look.ts";
import type { Context, Library } from "../context.ts";
import { runs } from "./grid.ts";
import { fits, overviewEdges, overviewOf, overviewStep } from "./overview.ts";
import { bandsOf, type Matrix, sightOf } from "./sights.ts";

/** The layer of the module that a name stands for. */
export function layerOf(library: Library, layer: LayerName): Layer {
  return layer === "scales" ? library.Layer.Scales : library.Layer.Values;
}

/** Extremes, sums and counts of cells. */
export interface Sums extends Cells {
  sum: Float64Array;
  count: Float64Array;
}

/** Extremes of the cells between edges. */
export async function cells(context: Context, matrix: Matrix, rowEdges: number[], colEdges: number[]): Promise<Cells> {
  const { rows, cols, max, min, nan } = await reduce(context, matrix, rowEdges, colEdges);
  return { rows, cols, max, min, nan };
}

/** Extremes and means along rows (cells across all columns) or columns. */
export async function profile(context: Context, matrix: Matrix, along: "rows" | "cols", edges: number[]): Promise<Profiled> {
  const [rowEdges, colEdges] = along === "rows" ? [edges, [0, matrix.cols]] : [[0, matrix.rows], edges];
  const found = await reduce(context, matrix, rowEdges, colEdges);
  const mean = Float32Array.from(found.sum, (sum, i) => (found.count[i]! > 0 ? sum / found.count[i]! : NaN));
  return { edges: Float64Array.from(edges), max: found.max, min: found.min, mean };
}

/** Of a large matrix coarse cells come from its overview, fine ones from the bands that they lie in. */
async function reduce(context: Context, matrix: Matrix, rowEdges: number[], colEdges: number[]): Promise<Sums> {
  if (matrix.bandRows < matrix.rows && fits(matrix, rowEdges, colEdges)) {
    const overview = await overviewOf(context, matrix, () => fromBands(context, matrix, ...overviewEdges(matrix)));
    return pool(overview, matrix, rowEdges, colEdges);
  }
  return fromBands(context, matrix, rowEdges, colEdges);
}

function emptySums(rows: number, cols: number): Sums {
  const size = rows * cols;
  return {
    rows,
    cols,
    max: new Float32Array(size).fill(NaN),
    min: new Float32Array(size).fill(NaN),
    nan: new Uint32Array(size),
    sum: new Float64Array(size),
    count: new Float64Array(size),
  };
}

async function fromBands(context: Context, matrix: Matrix, rowEdges: number[], colEdges: number[]): Promise<Sums> {
  const [rows, cols] = [rowEdges.length - 1, colEdges.length - 1];
  const sums = emptySums(rows, cols);
  const [first, last] = [rowEdges[0] ?? 0, rowEdges[rows] ?? 0];
  const bands = bandsOf(matrix, first, last);
  for (const [i, band] of bands.entries()) {
    if (bands.length > 2) context.progress({ what: `reading ${matrix.layer}`, done: i, total: bands.length });
    addBand(context.library, matrix, await sightOf(context, matrix, band), band, { rowEdges, colEdges, sums });
    await context.breathe();
  }
  return sums;
}

/** Cells of an overview put together to larger ones. */
function pool(overview: Sums, matrix: Matrix, rowEdges: number[], colEdges: number[]): Sums {
  const step = overviewStep(matrix);
  const sums = emptySums(rowEdges.length - 1, colEdges.length - 1);
  const place = (edges: number[], step: number) => edges.map((edge) => Math.ceil(edge / step));
  const [rows, cols] = [place(rowEdges, step.rows), place(colEdges, step.cols)];
  for (let r = 0; r < sums.rows; r++) {
    for (let c = 0; c < sums.cols; c++) {
      const to = r * sums.cols + c;
      for (let y = rows[r]!; y < rows[r + 1]!; y++) {
        for (let x = cols[c]!; x < cols[c + 1]!; x++) add(sums, to, overview, y * overview.cols + x);
      }
    }
  }
  return sums;
}

function add(sums: Sums, to: number, other: Sums, from: number): void {
  if (!(sums.max[to]! >= other.max[from]!)) sums.max[to] = other.max[from]!;
  if (!(sums.min[to]! <= other.min[from]!)) sums.min[to] = other.min[from]!;
  sums.nan[to]! += other.nan[from]!;
  sums.sum[to]! += other.sum[from]!;
  sums.count[to]! += other.count[from]!;
}

interface Grid {
  rowEdges: number[];
  colEdges: number[];
  sums: Sums;
}

function addBand(library: Library, matrix: Matrix, sight: Sight, band: { start: number; end: number }, grid: Grid): void {
  const { rowEdges, colEdges, sums } = grid;
  const layer = layerOf(library, matrix.layer);
  for (const down of runs(rowEdges, band.start, band.end)) {
    for (const across of runs(colEdges, 0, matrix.cols)) {
      const rect = new library.Rect(down.start - band.start, down.end - band.start, across.start, across.end);
      const map = sight.heatMap(layer, rect, down.cells, across.cells);
      rect.free();
      const [max, min, mean, nan] = [map.max(), map.min(), map.mean(), map.nan()];
      map.free();
      const each = ((down.end - down.start) / down.cells) * ((across.end - across.start) / across.cells);
      for (let r = 0, i = 0; r < down.cells; r++) {
        let to = (down.first + r) * sums.cols + across.first;
        for (let c = 0; c < across.cells; c++, i++, to++) {
          if (!(sums.max[to]! >= max[i]!)) sums.max[to] = max[i]!;
          if (!(sums.min[to]! <= min[i]!)) sums.min[to] = min[i]!;
          sums.nan[to]! += nan[i]!;
          // Where some are not finite the weight of the mean is a little too large: it only weighs bands.
          if (Number.isFinite(mean[i]!)) {
            sums.sum[to]! += mean[i]! * (each - nan[i]!);
            sums.count[to]! += each - nan[i]!;
          }
        }
      }
    }
  }
}
