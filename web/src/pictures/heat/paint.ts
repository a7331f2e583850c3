// From the numbers of cells to pixels.

import type { Lut } from "../colour/maps.ts";
import { isOutlier, type Range } from "./range.ts";
import type { TileData } from "./tiles.ts";

export type Spacing = "log" | "linear";

/** How numbers become colours. */
export interface Paint {
  table: Lut;
  spacing: Spacing;
  /** Positive and negative numbers, zero in the middle of the colours; `low` and `high` are then magnitudes. */
  signed: boolean;
  range: Range;
  /** Red, green, blue of outliers, and of NaN and infinity. */
  outlier: readonly [number, number, number];
  bad: readonly [number, number, number];
}

/** What a cell is: `zero` lets the ground show through, the last two must not be overlooked. */
export type Kind = "normal" | "zero" | "outlier" | "bad";

/** RGBA of each cell, and where cells are that must not be overlooked. */
export interface Painted {
  pixels: Uint8ClampedArray;
  /** Indices of cells with an outlier, and of those with NaN or infinity. */
  outliers: number[];
  bad: number[];
}

/** Where a number lies between the ends, 0 to 1; 0.5 where both ends are one. */
export function position(x: number, paint: Pick<Paint, "spacing" | "signed" | "range">): number {
  const { low, high } = paint.range;
  if (paint.signed) {
    const size = Math.abs(x);
    if (size === 0) return 0.5;
    const t = paint.spacing === "log" ? Math.log2(size / low) / Math.log2(high / low) : size / high;
    return 0.5 + (Math.sign(x) * clamp(t)) / 2;
  }
  if (high === low) return x < low ? 0 : x > high ? 1 : 0.5;
  if (paint.spacing === "log") {
    return x <= 0 ? 0 : clamp(Math.log2(x / low) / Math.log2(high / low));
  }
  return clamp((x - low) / (high - low));
}

/** What a cell with these extremes is. */
export function kindOf(max: number, min: number, nan: number, range: Range): Kind {
  if (nan > 0 || max === Infinity || min === -Infinity) return "bad";
  if (Number.isNaN(max) || (max === 0 && min === 0)) return "zero";
  return isOutlier(max, range) || isOutlier(min, range) ? "outlier" : "normal";
}

/** Pixels of a tile: the largest number of each cell, by magnitude where numbers have signs. */
export function paintTile(tile: TileData, paint: Paint): Painted {
  const cells = tile.rows * tile.cols;
  const pixels = new Uint8ClampedArray(cells * 4);
  const outliers: number[] = [];
  const bad: number[] = [];
  for (let i = 0; i < cells; i++) {
    const [max, min] = [tile.max[i]!, tile.min[i]!];
    const kind = kindOf(max, min, tile.nan[i] ?? 0, paint.range);
    if (kind === "zero") continue;
    if (kind === "bad") {
      bad.push(i);
      put(pixels, i, paint.bad);
    } else if (kind === "outlier") {
      outliers.push(i);
      put(pixels, i, paint.outlier);
    } else {
      const x = paint.signed && -min > max ? min : max;
      const at = 3 * Math.round(255 * position(x, paint));
      pixels[4 * i] = paint.table[at]!;
      pixels[4 * i + 1] = paint.table[at + 1]!;
      pixels[4 * i + 2] = paint.table[at + 2]!;
      pixels[4 * i + 3] = 255;
    }
  }
  return { pixels, outliers, bad };
}

function put(pixels: Uint8ClampedArray, cell: number, colour: readonly [number, number, number]): void {
  pixels.set(colour, 4 * cell);
  pixels[4 * cell + 3] = 255;
}

function clamp(t: number): number {
  return t < 0 ? 0 : t > 1 ? 1 : t;
}
