// What the tensor page is about: a weight, a matrix of it, and how its bytes are read.

import type { FoundFault, GlobalScaleUse, NibbleOrder, WeightDetails } from "blockscale-wasm";
import type { LayerName, Reading, Subject } from "../../protocol/look.ts";
import { MAIN } from "../../protocol/calls.ts";
import type { Route, RouteChange } from "../../route.ts";
import type { PageContext } from "../page.ts";

export interface TensorContext {
  page: PageContext;
  weight: number;
  details: WeightDetails;
  subject: Subject;
  /** Layouts of scales that there are, `linear` first. */
  layouts: string[];
  findings: FoundFault[];
}

/** What the file declares of a weight. */
export function declared(details: WeightDetails): Required<Reading> {
  return { nibbles: "low-first", layout: details.layout, use: "multiplies", global: details.global ?? "none" };
}

/** Whether there are nibbles, a plane whose order may be another, and a second scale to ask about. */
export function open(details: WeightDetails): { nibbles: boolean; layout: boolean; use: boolean; global: boolean } {
  const plane = details.scalePlane;
  return {
    nibbles: details.packedNibbles,
    layout: details.global !== null && plane !== null && plane.rows * plane.cols > 1,
    // A scale with a reciprocal of its own type: of E4M3 there is none.
    use: details.global !== null && plane !== null && plane.element !== "E4M3",
    global: details.global !== null && details.global !== "none",
  };
}

const NIBBLES: readonly string[] = ["low-first", "high-first", "halves"];
const GLOBALS: readonly string[] = ["none", "multiplier", "divisor"];

/** The reading that an address states; what is as declared is left out. */
export function readingOf(route: Route, details: WeightDetails, layouts: readonly string[]): Reading {
  const stated = declared(details);
  const reading: Reading = {};
  const asked = open(details);
  if (asked.nibbles && NIBBLES.includes(route.nib ?? "") && route.nib !== stated.nibbles) reading.nibbles = route.nib as NibbleOrder;
  if (asked.layout && layouts.includes(route.lay ?? "") && route.lay !== stated.layout) reading.layout = route.lay!;
  if (asked.use && route.use === "divides") reading.use = "divides";
  if (asked.global && GLOBALS.includes(route.glob ?? "") && route.glob !== stated.global) reading.global = route.glob as GlobalScaleUse;
  return reading;
}

/** The address of a reading. */
export function routeOf(reading: Reading): RouteChange {
  return { nib: reading.nibbles ?? null, lay: reading.layout ?? null, use: reading.use ?? null, glob: reading.global ?? null };
}

export function isAsDeclared(reading: Reading): boolean {
  return Object.keys(reading).length === 0;
}

/** A reading in words: `128x4 tiles, high nibble first`. */
export function inWords(reading: Reading): string {
  const words = [
    reading.layout ? `scales as ${reading.layout}` : null,
    reading.nibbles === "high-first" ? "high nibble first" : reading.nibbles === "halves" ? "nibbles as halves of a block" : null,
    reading.use === "divides" ? "scales dividing" : null,
    reading.global === "none" ? "global scale left out" : reading.global ? `global scale as ${reading.global}` : null,
  ];
  return words.filter(Boolean).join(", ") || "as declared";
}

export function subjectOf(weight: number, route: Route, details: WeightDetails, layouts: readonly string[]): Subject {
  const matrix = Math.min(Math.max(0, Math.trunc(Number(route.m ?? 0)) || 0), details.matrices - 1);
  return { checkpoint: MAIN, weight, matrix, reading: readingOf(route, details, layouts) };
}

/** Numbers of a layer in a tile of 128 rows and columns of weights. */
export function tileOf(details: WeightDetails, layer: LayerName): { rows: number; cols: number } {
  const plane = details.scalePlane;
  if (layer === "values" || !plane) return { rows: 128, cols: 128 };
  return { rows: Math.max(1, Math.round(128 / plane.blockRows)), cols: Math.max(1, Math.round(128 / plane.blockCols)) };
}

/** Words for saved files. */
export function fileWords(context: TensorContext, picture: string): string[] {
  const { details, subject } = context;
  const matrix = details.matrices > 1 ? [`matrix-${subject.matrix}`] : [];
  return [details.name, ...matrix, picture];
}

/** What a saved picture is about. */
export function about(context: TensorContext): Record<string, unknown> {
  const { details, subject, page } = context;
  return {
    checkpoint: page.main.name,
    tensor: details.name,
    format: details.format,
    shape: details.shape,
    matrix: subject.matrix,
    read: { ...declared(details), ...subject.reading },
    declared: isAsDeclared(subject.reading),
  };
}
