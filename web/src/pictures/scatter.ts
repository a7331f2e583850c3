// Scale against scale: how often a pair of them occurs, on logarithmic axes.

import { css, type Lut } from "./colour/maps.ts";
import { number, superscript } from "./format.ts";
import { whole } from "../units.ts";
import type { Plot } from "./plot.ts";
import { canvasOf, svg } from "./svg/element.ts";
import { short } from "./svg/parts.ts";
import { linear, wholeTicks } from "./svg/scale.ts";

export interface Pairs {
  /** Logarithms to base two of the edges, for both axes. */
  edges: ArrayLike<number>;
  /** Pairs in each cell: rows are the second scale, columns the first, both rising. */
  counts: ArrayLike<number>;
  /** Pairs of which one is zero, negative or not finite. */
  left: number;
  names: [string, string];
}

/** Draws it as a square of at most `width` CSS pixels. */
export function scatter(data: Pairs, width: number, table: Lut): Plot {
  const cells = data.edges.length - 1;
  const size = Math.floor(Math.min(width - 60, 400) / cells) * cells;
  const box = { left: 52, top: 8, right: 52 + size, bottom: 8 + size };
  const [from, to] = [data.edges[0]!, data.edges[cells]!];
  const x = linear(from, to, box.left, box.right);
  const y = linear(from, to, box.bottom, box.top);
  const step = size / cells;
  const most = Array.from(data.counts).reduce((top, n) => Math.max(top, n), 1);
  const filled = Array.from(data.counts, (n, i) => ({ n, i })).filter(({ n }) => n > 0);
  const octaves = wholeTicks(from, to, 6);
  const place = (i: number) => ({ x: box.left + (i % cells) * step, y: box.bottom - (Math.floor(i / cells) + 1) * step });
  const node = canvasOf(
    width,
    box.bottom + 40,
    `${data.names[0]} against ${data.names[1]}, scale by scale`,
    svg("rect", { x: box.left + 0.5, y: box.top + 0.5, width: size - 1, height: size - 1, class: "ground" }),
    svg("line", { x1: x(from), y1: y(from), x2: x(to), y2: y(to), class: "diagonal" }),
    ...filled.map(({ n, i }) => {
      const at = place(i);
      const fill = css(table, most === 1 ? 200 : 40 + (215 * Math.log2(n + 1)) / Math.log2(most + 1));
      return svg("rect", { x: at.x, y: at.y, width: Math.max(1.5, step), height: Math.max(1.5, step), fill });
    }),
    ...octaves.flatMap((octave) => [
      svg("text", { x: x(octave), y: box.bottom + 16, "text-anchor": "middle" }, `2${superscript(octave)}`),
      svg("text", { x: box.left - 6, y: y(octave) + 4, "text-anchor": "end" }, `2${superscript(octave)}`),
    ]),
    svg("text", { x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, data.names[0]),
    svg("text", { x: 12, y: (box.top + box.bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(box.top + box.bottom) / 2})` }, data.names[1]),
  );
  const ends = (i: number) => [2 ** data.edges[i % cells]!, 2 ** data.edges[Math.floor(i / cells)]!] as const;
  return {
    node,
    table: {
      caption: `Pairs of scales; each starts at the number given and ends ${number(2 ** ((to - from) / cells), 4)} times higher. ${whole(data.left)} pairs have no place here: zero or not finite.`,
      columns: [
        { name: data.names[0], kind: "number" },
        { name: data.names[1], kind: "number" },
        { name: "pairs", kind: "count" },
      ],
      rows: filled.map(({ n, i }) => [...ends(i), n]),
    },
    items: {
      count: data.counts.length,
      across: cells,
      text: (i) => `about ${number(ends(i)[0], 3)} against ${number(ends(i)[1], 3)}: ${short(data.counts[i]!)} pairs`,
      mark: (i) => ({ ...place(i), width: step, height: step }),
      pick: (px, py) => {
        const [col, row] = [Math.floor((px - box.left) / step), Math.floor((box.bottom - py) / step)];
        return col >= 0 && col < cells && row >= 0 && row < cells ? row * cells + col : null;
      },
    },
  };
}
