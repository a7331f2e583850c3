// Heat maps side by side that move and point together.

import { h } from "../../dom.ts";
import { HeatMap, type Look, type Spot } from "../../pictures/heat/heat-map.ts";
import type { Range } from "../../pictures/heat/range.ts";
import type { Fetch } from "../../pictures/heat/source.ts";
import type { Plane } from "../../pictures/heat/view.ts";

export interface Side {
  title: string;
  unit: string;
  signed: boolean;
  range: Range;
  look: Look;
  fetch: Fetch;
}

export interface Linked {
  root: HTMLElement;
  maps: HeatMap[];
  destroy(): void;
}

/** Maps of planes of one size. `spot` is told where any of them is pointed at. */
export function linked(plane: Plane, tile: { rows: number; cols: number }, sides: readonly Side[], spot: (spot: Spot | null) => void, fail: (error: unknown) => void): Linked {
  const maps: HeatMap[] = [];
  const others = (map: HeatMap) => maps.filter((other) => other !== map);
  for (const side of sides) {
    const map: HeatMap = new HeatMap({
      label: `${side.title}: ${plane.rows} rows, ${plane.cols} columns`,
      unit: side.unit,
      plane,
      tile,
      signed: side.signed,
      range: side.range,
      look: side.look,
      height: sides.length > 1 ? 320 : 420,
      fetch: side.fetch,
      outliers: () => [],
      onSpot: (at) => {
        for (const other of others(map)) other.point(at);
        spot(at);
      },
      onOpen: () => undefined,
      onMove: (view) => {
        for (const other of others(map)) other.view = view;
      },
      onView: (view) => {
        for (const each of maps) each.root.classList.toggle("zoomed", view !== null);
      },
      onLook: (look) => {
        for (const each of maps) each.look = { ...each.look, spacing: look.spacing, lines: look.lines };
      },
      onWait: () => undefined,
      onFail: fail,
    });
    maps.push(map);
  }
  const root = h(
    "div",
    { class: sides.length > 1 ? "pair" : "single" },
    ...sides.map((side, i) => h("section", { class: "figure", "aria-label": side.title }, h("h2", {}, side.title), maps[i]!.root)),
  );
  return { root, maps, destroy: () => maps.forEach((map) => map.destroy()) };
}
