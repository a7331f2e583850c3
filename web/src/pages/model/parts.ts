// The weights of a model put into groups: by module and format for areas, by layer and module for the grid.

import type { Opened } from "../../opened.ts";
import { type LayerCell, layerAndModule } from "../../pictures/layers.ts";
import type { Part } from "../../pictures/treemap.ts";
import type { Statistic } from "./statistics.ts";

/** What is outside of layers. */
const OUTSIDE = "outside layers";

/** Bytes by the part of a layer that they belong to, and by format. */
export function partsOf({ table, names }: Pick<Opened, "table" | "names">): Part[] {
  const parts = new Map<string, Part>();
  for (let weight = 0; weight < table.length; weight++) {
    const name = names.name(weight);
    const place = layerAndModule(name);
    const [group, part] = place ? groupOf(place.module) : [OUTSIDE, name.replace(/\.weight$/, "")];
    const format = table.formats[table.formatIds[weight]!] ?? "";
    const key = `${group}\n${part}\n${format}`;
    const found = parts.get(key) ?? { name: part, group, format, bytes: 0, weights: 0 };
    found.bytes += table.bytes[weight]!;
    found.weights += 1;
    parts.set(key, found);
  }
  return [...parts.values()];
}

/** `attn.wo_a` is `wo_a` of `attn`; `ffn.experts.*.w1` is `experts.*.w1` of `ffn`. */
function groupOf(module: string): [string, string] {
  const dot = module.indexOf(".");
  return dot < 0 ? [module, module] : [module.slice(0, dot), module.slice(dot + 1)];
}

/** One cell for each layer and module; experts are one, by their worst. */
export function cellsOf({ table, names }: Pick<Opened, "table" | "names">, statistic: Statistic): LayerCell[] {
  const cells = new Map<string, LayerCell>();
  for (let weight = 0; weight < table.length; weight++) {
    const place = layerAndModule(names.name(weight));
    if (!place) continue;
    const value = statistic.of(weight);
    const key = `${place.layer}\n${place.module}`;
    const cell = cells.get(key);
    if (!cell) {
      cells.set(key, { layer: place.layer, module: place.module, weight, value, of: 1 });
      continue;
    }
    cell.of += 1;
    if (Number.isNaN(cell.value) || statistic.worse(value) > statistic.worse(cell.value)) {
      cell.value = value;
      cell.weight = weight;
    }
  }
  return [...cells.values()];
}
