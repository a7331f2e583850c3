// A profile: the extremes and the mean along rows or columns, as a band and a line.

import { number, tight } from "./format.ts";
import type { Plot } from "./plot.ts";
import { canvasOf, path, svg } from "./svg/element.ts";
import { linear } from "./svg/scale.ts";

export interface Profile {
  /** What one number is along: `row` or `column`, or `block` for columns of scales. */
  along: string;
  /** Where each piece starts, and the end of the last. */
  edges: ArrayLike<number>;
  max: ArrayLike<number>;
  min: ArrayLike<number>;
  mean: ArrayLike<number>;
}

/** Draws it as a strip `width` x `height` CSS pixels. */
export function profile(data: Profile, width: number, height: number, spacing: "linear" | "log"): Plot {
  const pieces = data.max.length;
  const box = { left: 50, top: 6, right: width - 8, bottom: height - 18 };
  const log = spacing === "log" && Array.from(data.max).some((x) => x > 0);
  const level = (x: number) => (log ? Math.log2(x) : x);
  const numbers = [data.max, data.min, data.mean].flatMap((list) => Array.from(list, level)).filter(Number.isFinite);
  const low = numbers.reduce((least, x) => Math.min(least, x), Infinity);
  const high = numbers.reduce((most, x) => Math.max(most, x), -Infinity);
  const room = Math.max((high - low) * 0.08, 0.25 * Number(log), 1e-30);
  const x = linear(0, pieces, box.left, box.right);
  const y = (value: number) => {
    const at = level(value);
    return Number.isFinite(at) ? linear(low - room, high + room, box.bottom, box.top)(at) : box.bottom;
  };

  const upper: [number, number][] = [];
  const lower: [number, number][] = [];
  const middle: [number, number][] = [];
  for (let i = 0; i < pieces; i++) {
    upper.push([x(i), y(data.max[i]!)], [x(i + 1), y(data.max[i]!)]);
    lower.push([x(i), y(data.min[i]!)], [x(i + 1), y(data.min[i]!)]);
    middle.push([x(i + 0.5), y(data.mean[i]!)]);
  }
  const end = data.edges[pieces] ?? pieces;
  const node = canvasOf(
    width,
    height,
    `Profile along ${data.along}s`,
    svg("path", { d: path([...upper, ...lower.reverse()], "Z"), class: "band" }),
    svg("path", { d: path(middle), class: "edge" }),
    svg("line", { x1: box.left, x2: box.right, y1: box.bottom + 0.5, y2: box.bottom + 0.5, class: "axis" }),
    svg("text", { x: box.left, y: height - 4 }, `${data.along} 0`),
    svg("text", { x: box.right, y: height - 4, "text-anchor": "end" }, String(end - 1)),
    svg("text", { x: box.left - 6, y: box.top + 9, "text-anchor": "end" }, Number.isFinite(high) ? tight(log ? 2 ** high : high) : ""),
    svg("text", { x: box.left - 6, y: box.bottom, "text-anchor": "end" }, Number.isFinite(low) ? tight(log ? 2 ** low : low) : ""),
  );
  const span = (i: number) => {
    const [from, to] = [data.edges[i]!, data.edges[i + 1]! - 1];
    return from === to ? `${data.along} ${from}` : `${data.along}s ${from} to ${to}`;
  };
  return {
    node,
    table: {
      caption: `Extremes and mean along ${data.along}s.`,
      columns: [
        { name: `first ${data.along}`, kind: "count" },
        { name: `last ${data.along}`, kind: "count" },
        { name: "least", kind: "number" },
        { name: "mean", kind: "number" },
        { name: "most", kind: "number" },
      ],
      rows: Array.from({ length: pieces }, (_, i) => [data.edges[i]!, data.edges[i + 1]! - 1, data.min[i]!, data.mean[i]!, data.max[i]!]),
    },
    items: {
      count: pieces,
      text: (i) => `${span(i)}: ${number(data.min[i]!, 4)} to ${number(data.max[i]!, 4)}, mean ${number(data.mean[i]!, 4)}`,
      mark: (i) => ({ x: x(i), y: box.top, width: Math.max(1, x(i + 1) - x(i)), height: box.bottom - box.top }),
      pick: (at) => (at < box.left || at >= box.right ? null : Math.min(pieces - 1, Math.floor(((at - box.left) / (box.right - box.left)) * pieces))),
    },
  };
}
