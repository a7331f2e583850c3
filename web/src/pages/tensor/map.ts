// A heat map of a layer with its buttons, its read-out and its menu.

import { h } from "../../dom.ts";
import { saveMenu } from "../../export/menu.ts";
import { HeatMap, type Look, type Spot } from "../../pictures/heat/heat-map.ts";
import { HELP } from "../../pictures/heat/keys.ts";
import { rangeOf } from "../../pictures/heat/range.ts";
import { edges, edgesOf, TILE, type TileData, type TileId } from "../../pictures/heat/tiles.ts";
import type { Plane, View } from "../../pictures/heat/view.ts";
import { scrollable } from "../../pictures/figure.ts";
import type { Table } from "../../pictures/table.ts";
import type { LayerName, Pointed } from "../../protocol/look.ts";
import { whole } from "../../units.ts";
import { Segmented, select } from "../parts/choose.ts";
import { problem } from "../parts/problem.ts";
import { Latest } from "./asked.ts";
import { ReadOut } from "./read-out.ts";
import { about, fileWords, type TensorContext, tileOf } from "./subject.ts";
import { readSpot, readView, writeView } from "./view-code.ts";

export interface MapOptions {
  context: TensorContext;
  layer: LayerName;
  title: string;
  plane: Plane;
  /** Numbers below which 0.5 % and 99.5 % lie; magnitudes where there are signs. */
  quantiles: [number, number];
  /** The farthest, and how many there are in all. */
  outliers: readonly Spot[];
  outlierCount: number;
  height: number;
  /** Goes to a block: row of weights and block along it. */
  openBlock(row: number, block: number): void;
  /** The first picture is there. */
  onReady(): void;
}

/** Looks that a person chose, as long as the page is open. */
const looks = new Map<LayerName, Look>([
  ["scales", { spacing: "log", map: "viridis", lines: true }],
  ["values", { spacing: "linear", map: "diverging", lines: true }],
]);

export class MapPanel {
  readonly root: HTMLElement;
  readonly map: HeatMap;
  #readOut: ReadOut;
  #spacing: Segmented<"log" | "linear">;
  #lines: HTMLButtonElement;
  #caption = h("p", { class: "note", "aria-live": "polite" });
  #failure = h("div", { class: "failure" });
  #point: Latest<Spot, Pointed>;
  #colours: HTMLSelectElement;
  #said = "";
  #start = performance.now();
  #timed = false;
  #rest = 0;

  constructor(private readonly options: MapOptions) {
    const { context, layer, plane } = options;
    const { page, details, subject } = context;
    const route = page.router.route;
    const [low, high] = options.quantiles;
    const signed = layer === "values";
    const range = rangeOf(low, high, signed);
    const look = looks.get(layer)!;

    this.#readOut = new ReadOut(details, layer, () => this.map.cursor && this.#open(this.map.cursor));
    this.#point = new Latest<Spot, Pointed>(
      (spot) => page.client.call("point", { subject, layer, ...spot }),
      (spot, pointed) => same(spot, this.map.cursor) && this.#readOut.show(spot, pointed),
      (error) => this.#fail(error),
    );
    this.map = new HeatMap({
      label: `${options.title} of ${details.name}: ${whole(plane.rows)} rows, ${whole(plane.cols)} columns`,
      unit: layer === "scales" ? "scales" : "weights",
      plane,
      tile: tileOf(details, layer),
      signed,
      range,
      look,
      view: readView(route.view, devicePixelRatio || 1),
      cursor: layer === "scales" ? this.#spotOfRoute(route.b) : undefined,
      height: options.height,
      fetch: (id, signal) => this.#tile(id, signal),
      outliers: () => options.outliers,
      onSpot: (spot) => this.#spot(spot),
      onOpen: (spot) => this.#open(spot),
      onMove: () => this.#say(),
      onView: (view) => this.#viewed(view),
      onLook: (next) => this.#look(next),
      onWait: (tiles) => this.#waiting(tiles),
      onFail: (error) => this.#fail(error),
    });
    this.#spacing = new Segmented("Spacing of colours", [{ value: "log", text: "Log" }, { value: "linear", text: "Linear" }], look.spacing, (spacing) => this.#look({ ...this.map.look, spacing }));
    const maps = signed ? (["diverging"] as const) : (["viridis", "cividis"] as const);
    this.#colours = select("Colours", maps.map((value) => ({ value, text: value })), look.map, (map) => this.#look({ ...this.map.look, map: map as Look["map"] }));
    this.#lines = h("button", { type: "button", class: "button small", title: "Lines between tiles of 128 × 128 weights (G)", onclick: () => this.#look({ ...this.map.look, lines: !this.map.look.lines }) }, "Tiles");
    const zoom = (text: string, label: string, act: () => void) => h("button", { type: "button", class: "button small", title: label, "aria-label": label, onclick: act }, text);
    const menu = saveMenu(
      () => ({ name: fileWords(context, layer), about: about(context), picture: () => this.map.picture(), table: () => this.#table() }),
      (error) => this.#fail(error),
    );
    this.root = h(
      "section",
      { class: "figure map-panel", "aria-label": options.title },
      h(
        "div",
        { class: "figure-head" },
        h("h2", {}, options.title),
        h(
          "div",
          { class: "controls" },
          zoom("−", "Zoom out (−)", () => this.map.zoomBy(0.5)),
          zoom("+", "Zoom in (+)", () => this.map.zoomBy(2)),
          zoom("Fit", "Fit the whole plane (0)", () => this.map.showAll()),
          this.#spacing.root,
          maps.length > 1 ? this.#colours : null,
          this.#lines,
          keys(),
          menu,
        ),
      ),
      h("div", { class: "map-and-readout" }, h("div", { class: "map-room" }, this.map.root), this.#readOut.root),
      this.#failure,
      this.#caption,
      this.#behind(),
    );
    this.#look(look);
    if (this.map.cursor) this.#spot(this.map.cursor);
  }

  destroy(): void {
    clearTimeout(this.#rest);
    this.map.destroy();
  }

  #spotOfRoute(text: string | undefined): Spot | undefined {
    const plane = this.options.context.details.scalePlane;
    const spot = readSpot(text, { rows: this.options.context.details.rows, cols: plane?.cols ?? 0 });
    return spot && plane ? { row: Math.floor(spot.row / plane.blockRows), col: spot.col } : undefined;
  }

  async #tile(id: TileId, signal: AbortSignal): Promise<TileData> {
    const { context, layer, plane } = this.options;
    return context.page.client.call("cells", { subject: context.subject, layer, ...edgesOf(id, plane) }, { signal });
  }

  #spot(spot: Spot | null): void {
    if (!spot) return this.#readOut.clear();
    this.#readOut.show(spot, null);
    this.#point.want(spot);
    const plane = this.options.context.details.scalePlane;
    if (!plane || this.options.layer !== "scales") return;
    // Browsers refuse an address that changes with every move of the pointer.
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => this.options.context.page.router.refine({ b: `${spot.row * plane.blockRows}.${spot.col}` }), 250) as unknown as number;
  }

  #open(spot: Spot): void {
    const plane = this.options.context.details.scalePlane;
    if (!plane) return;
    const { layer } = this.options;
    if (layer === "scales") this.options.openBlock(spot.row * plane.blockRows, spot.col);
    else this.options.openBlock(spot.row, Math.floor(spot.col / plane.blockCols));
  }

  #viewed(view: View | null): void {
    this.options.context.page.router.refine({ view: view && writeView(view, devicePixelRatio || 1) });
    this.map.root.classList.toggle("zoomed", view !== null);
  }

  /** Says in the status bar how long the first picture took. */
  #waiting(tiles: number): void {
    this.root.classList.toggle("loading", tiles > 0);
    if (tiles > 0 || this.#timed) return;
    this.#timed = true;
    this.options.onReady();
    this.options.context.page.timed(performance.now() - this.#start);
  }

  #look(look: Look): void {
    looks.set(this.options.layer, look);
    this.map.look = look;
    this.#spacing.value = look.spacing;
    this.#lines.setAttribute("aria-pressed", String(look.lines));
  }

  /** What a cell of the picture is, and what stands out. */
  #say(): void {
    const { layer, outliers, outlierCount } = this.options;
    const { rows, cols } = this.map.cell;
    const said = `${rows} ${cols}`;
    if (said === this.#said) return;
    this.#said = said;
    const what = layer === "scales" ? "scale" : "weight";
    const cell = rows * cols === 1 ? `Each cell is one ${what}.` : `Each cell is the largest of ${whole(rows)} × ${whole(cols)} ${what}s, so that none is lost.`;
    const odd =
      layer === "values"
        ? " 99.5 % of the magnitudes lie within the colours; what is four times beyond is in the accent colour."
        : outliers.length === 0
          ? " Ends of the colours: 0.5 % and 99.5 %; no scale lies far beyond."
          : ` Ends of the colours: 0.5 % and 99.5 %; ${whole(outlierCount)} ${outlierCount === 1 ? "scale lies" : "scales lie"} far beyond, marked in the accent colour.`;
    const next = outliers.length > 0 && layer === "scales" ? h("button", { type: "button", class: "button plain small", onclick: () => this.map.nextOutlier() }, "Next outlier (O)") : "";
    this.#caption.replaceChildren(cell, odd, " ", next);
  }

  #fail(error: unknown): void {
    const shown = problem(error, () => {
      this.#failure.replaceChildren();
      this.map.look = this.map.look;
    });
    if (shown) this.#failure.replaceChildren(shown);
  }

  /** The numbers in view, or the extremes of cells where there are too many. */
  async #table(): Promise<Table> {
    const { context, layer, plane } = this.options;
    const { view, canvas, cell } = this.map;
    const rowStart = Math.floor(view.row / cell.rows) * cell.rows;
    const colStart = Math.floor(view.col / cell.cols) * cell.cols;
    // As many as a table holds; what is beyond is beyond the picture, too, on any usual screen.
    const shown = (start: number, length: number, step: number, end: number) =>
      edges(start, Math.min(end, start + Math.min(2 * TILE, Math.ceil(length / step) + 1) * step), step);
    const rowEdges = shown(rowStart, canvas.height * view.rowsPerPx, cell.rows, plane.rows);
    const colEdges = shown(colStart, canvas.width * view.colsPerPx, cell.cols, plane.cols);
    const found = await context.page.client.call("cells", { subject: context.subject, layer, rowEdges, colEdges });
    const single = cell.rows * cell.cols === 1;
    return {
      caption: `${this.options.title} in view: ${single ? "each number" : `extremes of ${cell.rows} × ${cell.cols} numbers`}, ${found.rows} × ${found.cols} of them.`,
      columns: [
        { name: "row", kind: "count" },
        { name: layer === "scales" ? "block" : "column", kind: "count" },
        ...(single ? [{ name: layer === "scales" ? "scale" : "value", kind: "number" as const }] : [{ name: "least", kind: "number" as const }, { name: "most", kind: "number" as const }]),
      ],
      rows: Array.from(found.max, (max, i) => {
        const place = [rowEdges[Math.floor(i / found.cols)]!, colEdges[i % found.cols]!];
        const value = found.nan[i]! > 0 ? NaN : max;
        return single ? [...place, value] : [...place, found.min[i]!, max];
      }),
    };
  }

  #behind(): HTMLElement {
    const room = h("div", { class: "table-room" });
    const details = h("details", { class: "behind" }, h("summary", {}, "Table"), room);
    details.addEventListener("toggle", () => {
      if (!details.open) return;
      this.#table().then(
        (table) => room.replaceChildren(scrollable(table)),
        (error: unknown) => this.#fail(error),
      );
    });
    return details;
  }
}

/** The keys of a heat map, to be looked up. */
function keys(): HTMLElement {
  return h(
    "details",
    { class: "menu" },
    h("summary", {}, "Keys"),
    h("dl", { class: "menu-items keys" }, ...HELP.flatMap(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)])),
  );
}

function same(a: Spot, b: Spot | null): boolean {
  return b !== null && a.row === b.row && a.col === b.col;
}
