// The histogram of weights: filled steps, and below them the numbers that the format has.

import { number, share } from "./format.ts";
import type { Plot } from "./plot.ts";
import { canvasOf, path, svg } from "./svg/element.ts";
import { axisX, countTicks, gridY, short } from "./svg/parts.ts";
import { heights, linear, ticks } from "./svg/scale.ts";

export interface WeightCounts {
  /** Edges of bins, rising. */
  edges: ArrayLike<number>;
  /** Below the first edge, between each two, from the last on. */
  counts: ArrayLike<number>;
  nan: number;
  /** The numbers that a code can stand for under the scale in the middle; none for plain floats. */
  grid: readonly number[];
  /** What the grid is, in words. */
  gridName: string;
}

/** Draws it `width` CSS pixels wide. */
export function histogram(data: WeightCounts, width: number, spacing: "linear" | "log"): Plot {
  const bins = data.edges.length - 1;
  const inside = Array.from({ length: bins }, (_, i) => data.counts[i + 1] ?? 0);
  const [from, to] = [data.edges[0] ?? 0, data.edges[bins] ?? 1];
  const total = Array.from(data.counts).reduce((sum, n) => sum + n, 0) + data.nan;
  const box = { left: 44, top: 8, right: width - 8, bottom: 168 };
  const grid = data.grid.filter((x) => x >= from && x <= to);
  const tickRoom = grid.length > 0 ? 12 : 0;

  const most = Math.max(1, ...inside);
  const x = linear(from, to, box.left, box.right);
  const height = heights(most, spacing, box.bottom - box.top);
  const points: [number, number][] = [[box.left, box.bottom]];
  inside.forEach((count, i) => {
    const y = box.bottom - height(count);
    points.push([x(data.edges[i]!), y], [x(data.edges[i + 1]!), y]);
  });
  points.push([box.right, box.bottom]);

  const below = { ...box, bottom: box.bottom + tickRoom };
  const node = canvasOf(
    width,
    below.bottom + 22,
    `Histogram of ${short(total)} weights from ${number(from, 3)} to ${number(to, 3)}`,
    gridY(box, countTicks(most, spacing, (n) => ticks(0, n, 4)), height, short),
    svg("path", { d: path(points, "Z"), class: "fill" }),
    svg("path", { d: path(points), class: "edge" }),
    ...grid.map((value) => {
      const at = x(value);
      return svg("line", { x1: at, x2: at, y1: box.bottom + 2, y2: box.bottom + 9, class: "code" });
    }),
    axisX(below, ticks(from, to, Math.max(2, width / 110)), x, (value) => number(value, 3)),
  );
  return {
    node,
    table: {
      caption: `Weights by size${data.grid.length > 0 ? `; ticks: ${data.gridName}` : ""}.`,
      columns: [
        { name: "from", kind: "number" },
        { name: "to", kind: "number" },
        { name: "weights", kind: "count" },
      ],
      rows: [
        ["−∞", from, data.counts[0] ?? 0],
        ...inside.map((count, i) => [data.edges[i]!, data.edges[i + 1]!, count]),
        [to, "∞", data.counts[bins + 1] ?? 0],
        ["NaN", "NaN", data.nan],
      ],
    },
    items: {
      count: bins,
      text: (i) =>
        `${number(data.edges[i]!, 4)} to ${number(data.edges[i + 1]!, 4)}: ${short(inside[i]!)} weights, ${share(inside[i]!, total)}`,
      mark: (i) => {
        const [start, end] = [x(data.edges[i]!), x(data.edges[i + 1]!)];
        return { x: start, y: box.top, width: end - start, height: box.bottom - box.top };
      },
      pick: (at) => {
        if (at < box.left || at >= box.right) return null;
        return Math.min(bins - 1, Math.floor(((at - box.left) / (box.right - box.left)) * bins));
      },
    },
  };
}
