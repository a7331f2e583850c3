// Row and column numbers at the edges of a heat map.

import { svg } from "../svg/element.ts";
import { ticks } from "../svg/scale.ts";
import { place, type Plane, type View } from "./view.ts";

export const TOP = 18;
export const LEFT = 52;

/** Ticks and numbers of columns, above a picture `width` CSS pixels wide. */
export function topRuler(view: View, plane: Plane, width: number, ratio: number): SVGElement {
  const marks = wholes(view.col, Math.min(plane.cols, view.col + width * ratio * view.colsPerPx), width / 80);
  return svg(
    "g",
    {},
    ...marks.flatMap((col) => {
      const x = place(view, 0, col + 0.5).x / ratio;
      if (x < 0 || x > width) return [];
      return [svg("line", { x1: x, x2: x, y1: TOP - 4, y2: TOP, class: "axis" }), svg("text", { x, y: TOP - 7, "text-anchor": x < 14 ? "start" : x > width - 14 ? "end" : "middle" }, String(col))];
    }),
  );
}

/** Ticks and numbers of rows, left of a picture `height` CSS pixels high. */
export function leftRuler(view: View, plane: Plane, height: number, ratio: number): SVGElement {
  const marks = wholes(view.row, Math.min(plane.rows, view.row + height * ratio * view.rowsPerPx), height / 48);
  return svg(
    "g",
    {},
    ...marks.flatMap((row) => {
      const y = place(view, row + 0.5, 0).y / ratio;
      if (y < 0 || y > height) return [];
      return [svg("line", { x1: LEFT - 4, x2: LEFT, y1: y, y2: y, class: "axis" }), svg("text", { x: LEFT - 7, y: Math.min(height - 2, Math.max(9, y + 4)), "text-anchor": "end" }, String(row))];
    }),
  );
}

/** Round whole numbers; the first and the last are the ends where nothing rounder fits. */
function wholes(from: number, to: number, wanted: number): number[] {
  const found = ticks(Math.ceil(from), Math.max(Math.ceil(from), to - 1), Math.max(1, wanted));
  return [...new Set(found.map(Math.round))].filter((n) => n >= Math.floor(from) && n < to);
}
