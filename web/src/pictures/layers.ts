// Layer by module: one number of each weight as a colour, so that the odd layer stands out.

import { css, type Lut } from "./colour/maps.ts";
import type { Plot } from "./plot.ts";
import { canvasOf, svg } from "./svg/element.ts";

/** One weight in the picture. */
export interface LayerCell {
  layer: number;
  module: string;
  /** Index of the weight, to go there. */
  weight: number;
  /** What is shown of it; NaN where it is not known. */
  value: number;
  /** How often there is such a weight in the layer: experts are shown as one, by their worst. */
  of: number;
}

export interface LayerGrid {
  /** Name of what is shown. */
  statistic: string;
  cells: LayerCell[];
  write(value: number): string;
}

/** Draws modules down, layers across; `open` goes to a weight. */
export function layerGrid(data: LayerGrid, width: number, table: Lut, open: (weight: number) => void): Plot {
  const modules = [...new Set(data.cells.map((cell) => cell.module))];
  const layers = [...new Set(data.cells.map((cell) => cell.layer))].sort((a, b) => a - b);
  const left = Math.min(200, 16 + 6.6 * modules.reduce((most, name) => Math.max(most, name.length), 0));
  const across = Math.max(4, Math.min(22, (width - left - 8) / Math.max(1, layers.length)));
  const down = 18;
  const column = new Map(layers.map((layer, i) => [layer, i]));
  const row = new Map(modules.map((name, i) => [name, i]));
  const finite = data.cells.map((cell) => cell.value).filter(Number.isFinite);
  const [low, high] = [finite.reduce((a, b) => Math.min(a, b), Infinity), finite.reduce((a, b) => Math.max(a, b), -Infinity)];
  const colour = (value: number) => css(table, high === low ? 128 : (255 * (value - low)) / (high - low));
  const mark = (cell: LayerCell) => ({
    x: left + column.get(cell.layer)! * across,
    y: 4 + row.get(cell.module)! * down,
    width: across,
    height: down,
  });
  const every = Math.ceil(18 / across);
  const bottom = 4 + modules.length * down;
  const ordered = [...data.cells].sort((a, b) => row.get(a.module)! - row.get(b.module)! || a.layer - b.layer);
  const at = new Map(ordered.map((cell, i) => [`${row.get(cell.module)}/${column.get(cell.layer)}`, i]));
  const node = canvasOf(
    width,
    bottom + 24,
    `${data.statistic} by layer and module`,
    ...ordered.map((cell) => {
      const box = mark(cell);
      const known = !Number.isNaN(cell.value);
      const fill = Number.isFinite(cell.value) ? colour(cell.value) : "none";
      return svg("rect", { x: box.x + 0.5, y: box.y + 0.5, width: Math.max(1, across - 1), height: down - 1, fill, class: known ? "cell" : "cell unknown" });
    }),
    ...modules.map((name, i) => svg("text", { x: left - 8, y: 4 + i * down + 13, "text-anchor": "end" }, name.length > 28 ? `…${name.slice(-27)}` : name)),
    ...layers.filter((_, i) => i % every === 0).map((layer) => svg("text", { x: left + (column.get(layer)! + 0.5) * across, y: bottom + 16, "text-anchor": "middle" }, String(layer))),
  );
  const text = (cell: LayerCell) => {
    const value = Number.isNaN(cell.value) ? "not measured" : data.write(cell.value);
    return `layer ${cell.layer}, ${cell.module}: ${value}${cell.of > 1 ? `, the worst of ${cell.of}` : ""}`;
  };
  return {
    node,
    table: {
      caption: `${data.statistic} by layer and module.`,
      columns: [
        { name: "layer", kind: "count" },
        { name: "module", kind: "text" },
        { name: data.statistic, kind: "text" },
        { name: "weights", kind: "count" },
      ],
      rows: ordered.map((cell) => [cell.layer, cell.module, Number.isNaN(cell.value) ? "not measured" : data.write(cell.value), cell.of]),
    },
    items: {
      count: ordered.length,
      text: (i) => text(ordered[i]!),
      mark: (i) => mark(ordered[i]!),
      pick: (x, y) => at.get(`${Math.floor((y - 4) / down)}/${Math.floor((x - left) / across)}`) ?? null,
      open: (i) => open(ordered[i]!.weight),
    },
  };
}

/** Layer and module of a weight's name: the first number that stands alone is the layer, a second one an expert. */
export function layerAndModule(name: string): { layer: number; module: string; expert: boolean } | null {
  const words = name.split(".");
  const at = words.findIndex((word) => /^\d+$/.test(word));
  if (at < 0) return null;
  const rest = words.slice(at + 1);
  const expert = rest.findIndex((word) => /^\d+$/.test(word));
  const module = rest.map((word, i) => (i === expert ? "*" : word)).join(".");
  return { layer: Number(words[at]), module: module.replace(/\.weight(_packed)?$/, ""), expert: expert >= 0 };
}
