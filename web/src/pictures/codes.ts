// How often each code occurs: bars in the order of their values for few codes, a grid of bytes for 256.

import { css, type Lut } from "./colour/maps.ts";
import { exact, hex, share } from "./format.ts";
import { whole } from "../units.ts";
import type { Plot } from "./plot.ts";
import { canvasOf, path, svg } from "./svg/element.ts";
import { countTicks, gridY, short } from "./svg/parts.ts";
import { heights, ticks } from "./svg/scale.ts";
import type { Table } from "./table.ts";

export interface CodeCounts {
  /** Name of the element type. */
  element: string;
  /** By code. */
  counts: ArrayLike<number>;
  /** The value of each code. */
  values: ArrayLike<number>;
  /** The share expected of each code; none where there is nothing to expect. */
  expected: readonly number[] | null;
}

/** Codes by value, −0 before 0; NaN last. */
export function byValue(values: ArrayLike<number>): number[] {
  const order = Array.from({ length: values.length }, (_, code) => code);
  const rank = (code: number) => {
    const value = values[code]!;
    return Number.isNaN(value) ? Infinity : Object.is(value, -0) ? -Number.MIN_VALUE : value;
  };
  return order.sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : a - b));
}

/** Bars of up to 64 codes, each with its value below and a thin line for what a gaussian gives. */
export function codeBars(data: CodeCounts, width: number): Plot {
  const order = byValue(data.values);
  const total = sum(data.counts);
  const most = Math.max(1, ...Array.from(data.counts), ...(data.expected ?? []).map((part) => part * total));
  const box = { left: 44, top: 8, right: width - 8, bottom: 200 };
  const step = (box.right - box.left) / order.length;
  const height = heights(most, "linear", box.bottom - box.top);
  const labelEvery = Math.ceil(28 / step);

  const bars = order.flatMap((code, i) => {
    const tall = height(data.counts[code]!);
    const x = box.left + i * step;
    const bar = svg("rect", { x: x + step * 0.12, y: box.bottom - tall, width: step * 0.76, height: tall, class: "bar" });
    // A code that never occurs is marked: a missing bar is easily overlooked.
    const dead = data.counts[code] === 0 && total > 0 && (data.expected?.[code] ?? 0) > 1e-4;
    const mark = svg("text", { x: x + step / 2, y: box.bottom - 6, "text-anchor": "middle", class: "warn" }, "none");
    const value = svg("text", { x: x + step / 2, y: box.bottom + 16, "text-anchor": "middle" }, exact(data.values[code]!));
    const name = svg("text", { x: x + step / 2, y: box.bottom + 30, "text-anchor": "middle", class: "faint" }, hex(code, order.length > 16 ? 2 : 1));
    return [bar, ...(dead ? [mark] : []), ...(i % labelEvery === 0 ? [value, name] : [])];
  });
  const line = data.expected
    ? order.map((code, i): [number, number] => [
        box.left + (i + 0.5) * step,
        box.bottom - height(data.expected![code]! * total),
      ])
    : [];
  const node = canvasOf(
    width,
    box.bottom + 36,
    `Codes of ${data.element} in order of their values`,
    gridY(box, countTicks(most, "linear", (n) => ticks(0, n, 4)), height, short),
    ...bars,
    svg("line", { x1: box.left, x2: box.right, y1: box.bottom + 0.5, y2: box.bottom + 0.5, class: "axis" }),
    svg("path", { d: path(line), class: "expected" }),
  );
  return {
    node,
    table: codeTable(data, order),
    items: {
      count: order.length,
      text: (i) => describe(data, order[i]!, total),
      mark: (i) => ({ x: box.left + i * step, y: box.top, width: step, height: box.bottom - box.top }),
      pick: (x) => (x < box.left || x >= box.right ? null : Math.floor((x - box.left) / step)),
    },
  };
}

/** 16 x 16 codes: rows by the high, columns by the low half of the byte. */
export function codeGrid(data: CodeCounts, width: number, table: Lut): Plot {
  const total = sum(data.counts);
  const most = Math.max(1, ...Array.from(data.counts));
  const top = Math.log2(most + 1);
  const left = 28;
  const size = Math.floor(Math.min(width - left - 8, 416) / 16);
  const cells = Array.from({ length: 256 }, (_, code) => {
    const [x, y] = [left + (code % 16) * size, 20 + Math.floor(code / 16) * size];
    const found = data.counts[code] ?? 0;
    const fill = found === 0 ? "none" : css(table, 24 + (231 * Math.log2(found + 1)) / top);
    const kind = Number.isFinite(data.values[code] ?? 0) ? "cell" : found > 0 ? "cell special found" : "cell special";
    return svg("rect", { x: x + 0.5, y: y + 0.5, width: size - 1, height: size - 1, fill, class: kind });
  });
  const labels = Array.from({ length: 16 }, (_, i) => [
    svg("text", { x: left + (i + 0.5) * size, y: 14, "text-anchor": "middle" }, hex(i, 1)),
    svg("text", { x: left - 8, y: 20 + (i + 0.5) * size + 4, "text-anchor": "end" }, hex(i, 1)),
  ]).flat();
  return {
    node: canvasOf(left + 16 * size + 8, 28 + 16 * size, `Codes of ${data.element}, by both halves of the byte`, ...cells, ...labels),
    table: codeTable(data, byValue(data.values)),
    items: {
      count: 256,
      across: 16,
      text: (code) => describe(data, code, total),
      mark: (code) => ({ x: left + (code % 16) * size, y: 20 + Math.floor(code / 16) * size, width: size, height: size }),
      pick: (x, y) => {
        const [col, row] = [Math.floor((x - left) / size), Math.floor((y - 20) / size)];
        return col >= 0 && col < 16 && row >= 0 && row < 16 ? row * 16 + col : null;
      },
    },
  };
}

function describe(data: CodeCounts, code: number, total: number): string {
  const found = data.counts[code] ?? 0;
  const expected = data.expected ? `; a gaussian gives ${share(data.expected[code]! * 1e6, 1e6)}` : "";
  return `code ${hex(code, data.values.length > 16 ? 2 : 1)} = ${exact(data.values[code]!)}: ${whole(found)}, ${share(found, total)}${expected}`;
}

function codeTable(data: CodeCounts, order: number[]): Table {
  const total = sum(data.counts);
  return {
    caption: `Codes of ${data.element} in order of their values.`,
    columns: [
      { name: "code", kind: "text" },
      { name: "value", kind: "number" },
      { name: "weights", kind: "count" },
      { name: "share", kind: "number" },
      ...(data.expected ? [{ name: "share of a gaussian", kind: "number" as const }] : []),
    ],
    rows: order.map((code) => [
      hex(code, data.values.length > 16 ? 2 : 1),
      data.values[code]!,
      data.counts[code] ?? 0,
      total === 0 ? 0 : (data.counts[code] ?? 0) / total,
      ...(data.expected ? [data.expected[code]!] : []),
    ]),
  };
}

function sum(counts: ArrayLike<number>): number {
  return Array.from(counts).reduce((total, n) => total + n, 0);
}
