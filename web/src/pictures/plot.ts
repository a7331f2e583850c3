// What a picture in SVG is, to the frame around it.

import type { Table } from "./table.ts";

/** A rectangle of a plot, in its own units. */
export interface Mark {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The things that a pointer, or the arrow keys, go over: bins, bars, cells. */
export interface Items {
  count: number;
  /** What is read out of item `i`. */
  text(i: number): string;
  mark(i: number): Mark;
  /** The item at a place. */
  pick(x: number, y: number): number | null;
  /** Items in a row, where they form a grid: up and down move by that. */
  across?: number;
  /** Goes to what the item is about. */
  open?(i: number): void;
}

export interface Plot {
  node: SVGSVGElement;
  table: Table;
  items?: Items;
}
