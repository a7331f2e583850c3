// Pieces that plots share.

import { svg } from "./element.ts";
import type { Place } from "./scale.ts";

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A baseline with ticks below it. */
export function axisX(box: Box, ticks: number[], place: Place, label: (x: number) => string): SVGElement {
  const line = svg("line", { x1: box.left, x2: box.right, y1: box.bottom + 0.5, y2: box.bottom + 0.5, class: "axis" });
  const marks = ticks.flatMap((tick) => {
    const x = place(tick);
    return [
      svg("line", { x1: x, x2: x, y1: box.bottom + 0.5, y2: box.bottom + 4.5, class: "axis" }),
      svg("text", { x, y: box.bottom + 16, "text-anchor": "middle" }, label(tick)),
    ];
  });
  return svg("g", {}, line, ...marks);
}

/** Hairlines across with their number to the left. */
export function gridY(box: Box, ticks: number[], height: Place, label: (y: number) => string): SVGElement {
  const lines = ticks.flatMap((tick) => {
    const y = box.bottom - height(tick);
    return [
      svg("line", { x1: box.left, x2: box.right, y1: y, y2: y, class: "grid" }),
      svg("text", { x: box.left - 6, y: y + 4, "text-anchor": "end" }, label(tick)),
    ];
  });
  return svg("g", {}, ...lines);
}

/** Counts worth a line: powers of ten where counts are spaced by logarithm, else some round ones. */
export function countTicks(most: number, spacing: "linear" | "log", round: (most: number) => number[]): number[] {
  if (spacing === "linear") return round(most).filter((n) => n > 0);
  const powers = Math.floor(Math.log10(Math.max(1, most)));
  const step = Math.max(1, Math.ceil(powers / 4));
  return Array.from({ length: Math.floor(powers / step) + 1 }, (_, i) => 10 ** (i * step));
}

/** A count in little room: `12 k`. */
export function short(n: number): string {
  const units: [number, string][] = [
    [1e9, " G"],
    [1e6, " M"],
    [1e3, " k"],
  ];
  for (const [size, unit] of units) if (n >= size) return `${Number((n / size).toPrecision(3))}${unit}`;
  return String(n);
}
