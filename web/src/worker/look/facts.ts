// What scales and numbers of a weight are like, from some of its rows or all.

import type { BlockStats, ScaleStats, Score, Sight, ValueStats } from "blockscale-wasm";
import { isOutlier, rangeOf } from "../../pictures/heat/range.ts";
import type { ScaleFacts, Share, ValueFacts } from "../../protocol/look.ts";
import type { Context } from "../context.ts";
import { spread } from "./grid.ts";
import { mergeBlocks, mergeScales, mergeValues, quantiles } from "./merge.ts";
import { bandsOf, type Matrix, readRows, sightOf } from "./sights.ts";

/** Numbers that are looked at where not all are asked for. */
const SOME = { local: 4 << 20, remote: 1 << 20 };
/** Numbers that are put in order for quantiles. */
const ORDERED = 1 << 18;
/** Outliers that are named. */
const NAMED = 64;
/** Bins of the histogram of weights. */
const BINS = 160;

interface Band {
  start: number;
  end: number;
}

/** Goes over a share of the rows; `visit` must not keep the sight. */
async function over(context: Context, matrix: Matrix, share: Share, visit: (sight: Sight, band: Band) => void): Promise<number> {
  const most = Math.max(1, Math.floor(SOME[matrix.held.reach] / matrix.cols));
  const whole = share === "all" || matrix.rows <= most || matrix.bandRows >= matrix.rows;
  let seen = 0;
  if (whole) {
    const bands = bandsOf(matrix, 0, matrix.rows);
    for (const [i, band] of bands.entries()) {
      if (bands.length > 1) context.progress({ what: `reading ${matrix.layer}`, done: i, total: bands.length });
      visit(await sightOf(context, matrix, band), band);
      seen += band.end - band.start;
      await context.breathe();
    }
    return seen;
  }
  // Blocks of values must be whole; rows of scales are whole already.
  const block = matrix.layer === "scales" ? 1 : matrix.blockRows;
  for (const [start, end] of spread(matrix.rows, block, most, 16)) {
    const sight = await readRows(context, matrix, start, end);
    try {
      visit(sight, { start, end });
    } finally {
      sight.free();
    }
    seen += end - start;
    await context.breathe();
  }
  return seen;
}

/** What the plane of scales is like. */
export async function scaleFacts(context: Context, matrix: Matrix, share: Share): Promise<ScaleFacts> {
  const { Rect, Layer } = context.library;
  let stats: ScaleStats | null = null;
  const parts: { numbers: Float32Array; start: number }[] = [];
  const rowsSeen = await over(context, matrix, share, (sight, band) => {
    stats = mergeScales(stats, sight.scaleStats());
    const rect = new Rect(0, band.end - band.start, 0, matrix.cols);
    parts.push({ numbers: sight.numbers(Layer.Scales, rect), start: band.start });
    rect.free();
  });
  const all = parts.map((part) => part.numbers);
  const [low, middle, high] = quantiles(thinned(all, matrix.cols), [0.005, 0.5, 0.995]) as [number, number, number];
  const found = stats as ScaleStats | null;
  if (!found) throw new Error(`\`${matrix.details.name}\` has no scales`);
  return {
    rows: matrix.rows,
    cols: matrix.cols,
    rowsSeen,
    stats: found,
    quantiles: [low, middle, high],
    ...outliersOf(parts, matrix.cols, low, high),
  };
}

/** The scales far beyond the range, NaN and negative ones, the farthest first. */
function outliersOf(parts: { numbers: Float32Array; start: number }[], cols: number, low: number, high: number): Pick<ScaleFacts, "outliers" | "outlierCount"> {
  const range = rangeOf(low, high, false);
  const middle = Math.log2(range.low * range.high) / 2;
  const distance = (value: number) => (value > 0 ? Math.abs(Math.log2(value) - middle) : Infinity);
  const found: ScaleFacts["outliers"] = [];
  let outlierCount = 0;
  for (const { numbers, start } of parts) {
    for (let i = 0; i < numbers.length; i++) {
      const value = numbers[i]!;
      if (!(isOutlier(value, range) || value < 0 || Number.isNaN(value))) continue;
      outlierCount += 1;
      found.push({ row: start + Math.floor(i / cols), col: i % cols, value });
      if (found.length >= 4 * NAMED) keepFarthest(found, distance);
    }
  }
  keepFarthest(found, distance);
  return { outliers: found, outlierCount };
}

function keepFarthest(found: ScaleFacts["outliers"], distance: (value: number) => number): void {
  found.sort((a, b) => (distance(b.value) === distance(a.value) ? 0 : distance(b.value) > distance(a.value) ? 1 : -1));
  found.length = Math.min(found.length, NAMED);
}

/** What the numbers are like, with a histogram over nearly all of them. */
export async function valueFacts(context: Context, matrix: Matrix, share: Share): Promise<ValueFacts> {
  const { Rect, Layer } = context.library;
  const blocked = matrix.details.scalePlane !== null;
  const sample = await magnitudes(context, matrix);
  const [middle, high, most] = quantiles(sample, [0.5, 0.995, 0.998]) as [number, number, number];
  const end = most > 0 ? most * 1.25 : 1;
  const edges = Float32Array.from({ length: BINS + 1 }, (_, i) => end * ((2 * i) / BINS - 1));
  let values: ValueStats | null = null;
  let blocks: BlockStats | null = null;
  const counts = new Float64Array(BINS + 2);
  let nan = 0;
  const scales: Float32Array[] = [];
  const rowsSeen = await over(context, matrix, share, (sight) => {
    values = mergeValues(values, sight.valueStats());
    if (blocked) {
      blocks = mergeBlocks(blocks, sight.blockStats());
      const plane = new Rect(0, sight.scaleRows, 0, sight.scaleCols);
      scales.push(sight.numbers(Layer.Scales, plane));
      plane.free();
    }
    const rect = new Rect(0, sight.rows, 0, sight.cols);
    const histogram = sight.histogram(Layer.Values, rect, edges);
    rect.free();
    histogram.counts().forEach((count, i) => (counts[i]! += count));
    nan += histogram.nan;
    histogram.free();
  });
  const found = values as ValueStats | null;
  if (!found) throw new Error(`\`${matrix.details.name}\` has no numbers`);
  return {
    rows: matrix.rows,
    cols: matrix.cols,
    rowsSeen,
    values: found,
    blocks,
    quantiles: [middle, high],
    medianScale: scales.length > 0 ? quantiles(thinned(scales, matrix.details.scalePlane?.cols ?? 1), [0.5])[0]! : null,
    edges,
    counts,
    nan,
  };
}

/** Magnitudes of some numbers, for the range of a histogram. */
async function magnitudes(context: Context, matrix: Matrix): Promise<Float32Array> {
  const rows = Math.max(1, Math.floor(ORDERED / matrix.cols));
  const parts: Float32Array[] = [];
  const whole = matrix.bandRows >= matrix.rows;
  const places: [number, number][] = whole ? [[0, matrix.rows]] : spread(matrix.rows, matrix.blockRows, rows, 8);
  for (const [start, end] of places) {
    const take = (sight: Sight) => {
      const rect = new context.library.Rect(0, Math.min(rows, sight.rows), 0, sight.cols);
      parts.push(sight.numbers(context.library.Layer.Values, rect).map(Math.abs));
      rect.free();
    };
    if (whole) {
      take(await sightOf(context, matrix, { start, end }));
      continue;
    }
    const sight = await readRows(context, matrix, start, end);
    try {
      take(sight);
    } finally {
      sight.free();
    }
  }
  return joined(parts);
}

/** How well the reading explains some of the rows. */
export async function score(context: Context, matrix: Matrix): Promise<Score> {
  const some = SOME[matrix.held.reach] / 4;
  const rows = Math.min(matrix.rows, Math.max(8 * matrix.blockRows, Math.floor(some / matrix.cols)));
  if (matrix.bandRows >= matrix.rows) return (await sightOf(context, matrix, { start: 0, end: matrix.rows })).score();
  const sight = await readRows(context, matrix, 0, rows);
  try {
    return sight.score();
  } finally {
    sight.free();
  }
}

/** At most so many numbers as are put in order, evenly from all. */
function thinned(parts: Float32Array[], cols: number): Float32Array {
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  let step = Math.ceil(total / ORDERED);
  if (step <= 1) return joined(parts);
  // A step that shares a factor with the columns would see some columns only.
  while (commonFactor(step, cols) > 1) step += 1;
  const taken = new Float32Array(Math.ceil(total / step));
  let [at, skip] = [0, 0];
  for (const part of parts) {
    let i = skip;
    for (; i < part.length; i += step) taken[at++] = part[i]!;
    skip = i - part.length;
  }
  return taken.subarray(0, at);
}

function commonFactor(a: number, b: number): number {
  return b === 0 ? a : commonFactor(b, a % b);
}

function joined(parts: Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
