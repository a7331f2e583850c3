// Bands of a weight's rows in the module's memory, the last used ones kept.

import type { Region, Sight, WeightDetails } from "blockscale-wasm";
import type { LayerName, Subject } from "../../protocol/look.ts";
import type { Context, Held } from "../context.ts";

/** Numbers of a band. */
const BAND = 4 << 20;
/** Bytes of bands that are kept. */
const KEPT = 96 << 20;

interface Entry {
  sight: Promise<Sight>;
  bytes: number;
}

/** The bands of one checkpoint. */
interface Store {
  details: Map<number, WeightDetails>;
  bands: Map<string, Entry>;
}

const stores = new WeakMap<Held, Store>();

/** Lets go of what is kept of a checkpoint. */
export function forget(held: Held): void {
  const store = stores.get(held);
  if (!store) return;
  stores.delete(held);
  for (const entry of store.bands.values()) release(entry);
}

/** A matrix and how it is cut into bands. */
export interface Matrix {
  held: Held;
  subject: Subject;
  details: WeightDetails;
  layer: LayerName;
  /** Rows and columns of the layer. */
  rows: number;
  cols: number;
  /** Rows of weights that one row of the layer covers, and of a block. */
  rowScale: number;
  blockRows: number;
  /** Rows of the layer that a band has; the last has fewer. */
  bandRows: number;
}

/** Settles rows, columns and bands of a layer. */
export function matrixOf(context: Context, subject: Subject, layer: LayerName): Matrix {
  const held = context.checkpoint(subject.checkpoint);
  const details = detailsOf(held, subject.weight);
  const plane = details.scalePlane;
  if (layer === "scales" && !plane) {
    throw new Error(`\`${details.name}\` is ${details.format}, which has no plane of block scales`);
  }
  const blockRows = plane && plane.rows > 1 ? plane.blockRows : 1;
  const [rows, cols] = layer === "scales" ? [plane!.rows, plane!.cols] : [details.rows, details.cols];
  const rowScale = layer === "scales" ? plane!.blockRows : 1;
  // Rows of another order are found in the whole plane only.
  const whole = details.layout !== "linear" || (subject.reading.layout ?? details.layout) !== "linear";
  const fits = 2 ** Math.max(0, Math.floor(Math.log2(BAND / Math.max(1, cols))));
  const least = layer === "scales" ? 1 : 2 ** Math.ceil(Math.log2(blockRows));
  return { held, subject, details, layer, rows, cols, rowScale, blockRows, bandRows: whole ? rows : Math.max(fits, least) };
}

export function detailsOf(held: Held, weight: number): WeightDetails {
  const { details } = storeOf(held);
  let found = details.get(weight);
  if (!found) details.set(weight, (found = held.handle.weight(weight)));
  return found;
}

/** The bands that hold rows `row` to `rowEnd` of the layer. */
export function bandsOf(matrix: Matrix, row: number, rowEnd: number): { start: number; end: number }[] {
  const bands = [];
  for (let start = Math.floor(row / matrix.bandRows) * matrix.bandRows; start < rowEnd; start += matrix.bandRows) {
    bands.push({ start, end: Math.min(matrix.rows, start + matrix.bandRows) });
  }
  return bands;
}

/** A band, read if it is not kept. Its rows count from `band.start`. It must not be freed. */
export async function sightOf(context: Context, matrix: Matrix, band: { start: number; end: number }): Promise<Sight> {
  const { bands } = storeOf(matrix.held);
  const { checkpoint: _, ...subject } = matrix.subject;
  const key = JSON.stringify([subject, matrix.layer, band.start]);
  for (;;) {
    const kept = bands.get(key);
    if (!kept) break;
    // Last used, last to go.
    bands.delete(key);
    bands.set(key, kept);
    try {
      return await kept.sight;
    } catch (error) {
      // Another request asked for the band and was cancelled: that is no reason to fail this one.
      if (context.signal.aborted || bands.get(key) === kept) throw error;
    }
  }
  const sight = readRows(context, matrix, band.start, band.end);
  const entry = { sight, bytes: sizeOf(matrix, band.end - band.start) };
  bands.set(key, entry);
  sight.catch(() => bands.get(key) === entry && bands.delete(key));
  makeRoom(bands);
  return sight;
}

/** Rows of a layer, read without keeping them: the caller frees. */
export async function readRows(context: Context, matrix: Matrix, start: number, end: number): Promise<Sight> {
  const { handle, read } = matrix.held;
  const region = regionOf(context, matrix, start, end);
  try {
    const alone = hasScalesAlone(matrix);
    const bytes = await read(alone ? handle.scalePieces(region) : handle.pieces(region), context.signal);
    return alone ? handle.scales(region, bytes) : handle.see(region, bytes);
  } finally {
    region.free();
  }
}

/** Bytes that rows of a layer have to wait for. */
export function missingBytes(context: Context, matrix: Matrix, start: number, end: number): number {
  const { handle, missing } = matrix.held;
  const region = regionOf(context, matrix, start, end);
  try {
    return missing(hasScalesAlone(matrix) ? handle.scalePieces(region) : handle.pieces(region));
  } finally {
    region.free();
  }
}

/** Whether the layer is scales that can be read without their codes. */
function hasScalesAlone({ layer, details }: Matrix): boolean {
  return layer === "scales" && details.scalePlane?.needsCodes === false;
}

function regionOf(context: Context, matrix: Matrix, start: number, end: number): Region {
  const { subject, details, rowScale } = matrix;
  const [first, last] = [start * rowScale, Math.min(details.rows, end * rowScale)];
  const { nibbles, layout, use, global } = subject.reading;
  let region = new context.library.Region(subject.weight, subject.matrix, first, last);
  if (nibbles) region = region.withNibbles(nibbles);
  if (layout) region = region.withScaleLayout(layout);
  if (use) region = region.withScaleUse(use);
  if (global) region = region.withGlobalScale(global);
  return region;
}

function storeOf(held: Held): Store {
  let store = stores.get(held);
  if (!store) stores.set(held, (store = { details: new Map(), bands: new Map() }));
  return store;
}

/** About what a band takes in memory: scales are kept as bytes and as F32, numbers as stored. */
function sizeOf(matrix: Matrix, rows: number): number {
  const numbers = rows * matrix.cols;
  if (matrix.layer === "scales") return numbers * 8;
  // Codes are kept twice: as they lie in the file, and as they are decoded from.
  const { parts, matrices, rows: all, cols } = matrix.details;
  const codes = parts.find((part) => part.role === "codes");
  const each = codes ? (codes.end - codes.start) / Math.max(1, matrices * all * cols) : 4;
  return numbers * (2 * each + 0.5);
}

function makeRoom(bands: Map<string, Entry>): void {
  let bytes = [...bands.values()].reduce((sum, entry) => sum + entry.bytes, 0);
  for (const [key, entry] of bands) {
    // The newest stays, however large it is.
    if (bytes <= KEPT || bands.size === 1) return;
    bands.delete(key);
    bytes -= entry.bytes;
    release(entry);
  }
}

/** Frees a band, but not before those who were given it in this turn are done with it. */
function release(entry: Entry): void {
  void entry.sight.then((sight) => setTimeout(() => sight.free(), 0), () => undefined);
}
