// A heat map that is zoomed, panned and read out, by pointer and by key.

import { h } from "../../dom.ts";
import { lut, type MapName, type Theme } from "../colour/maps.ts";
import { rgb } from "../colour/rgb.ts";
import { theme, token } from "../colour/theme.ts";
import { canvasOf, svg } from "../svg/element.ts";
import { Bitmaps, draw } from "./draw.ts";
import { listen } from "./gestures.ts";
import { actionOf } from "./keys.ts";
import { legend } from "./legend.ts";
import type { Paint, Spacing } from "./paint.ts";
import type { Range } from "./range.ts";
import { LEFT, leftRuler, TOP, topRuler } from "./rulers.ts";
import { type Fetch, TileSource } from "./source.ts";
import { level, visibleTiles } from "./tiles.ts";
import { at, fit, isFitted, keepInside, pan, place, type Plane, reveal, type Size, type View, zoom } from "./view.ts";

/** What a person chose of how the map looks. */
export interface Look {
  spacing: Spacing;
  map: MapName;
  lines: boolean;
}

export interface Spot {
  row: number;
  col: number;
}

export interface HeatMapOptions {
  /** What it is, for those who do not see it. */
  label: string;
  /** What the colours stand for. */
  unit: string;
  plane: Plane;
  /** Numbers of a tile of 128 rows and columns of weights. */
  tile: { rows: number; cols: number };
  signed: boolean;
  range: Range;
  look: Look;
  /** Where it starts, if not with the whole plane. */
  view?: View | undefined;
  cursor?: Spot | undefined;
  /** The highest it is drawn, in CSS pixels. */
  height: number;
  fetch: Fetch;
  /** Outliers in the order in which they are gone through. */
  outliers(): readonly Spot[];
  /** The place that is read out changed. */
  onSpot(spot: Spot | null): void;
  /** A number was chosen to be seen in detail. */
  onOpen(spot: Spot): void;
  /** The view changed. */
  onMove?(view: View): void;
  /** The view came to rest; null where it is the whole plane. */
  onView(view: View | null): void;
  onLook(look: Look): void;
  onWait(tiles: number): void;
  onFail(error: unknown): void;
}

interface Inks {
  theme: Theme;
  accent: string;
  nan: string;
  fg: string;
  bg: string;
  line: string;
}

/** The largest that one number is drawn, in CSS pixels. */
const LARGEST = 56;

export class HeatMap {
  readonly root: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  #top = h("div", { class: "ruler top", "aria-hidden": "true" });
  #left = h("div", { class: "ruler left", "aria-hidden": "true" });
  #legend = h("div", { class: "legend" });
  #size: Size = { width: 1, height: 1, block: LARGEST };
  #ratio = 1;
  #view: View;
  /** The whole plane is to be seen, whatever size the picture gets. */
  #fitted: boolean;
  #cursor: Spot | null;
  /** The cursor stays where it was put, whatever the pointer does. */
  #pinned: boolean;
  #look: Look;
  #range: Range;
  #tiles: TileSource;
  #bitmaps = new Bitmaps();
  #inks: Inks | null = null;
  #frame = 0;
  #rest = 0;
  #outlier = -1;
  #stop: () => void;
  #observer: ResizeObserver;

  constructor(private readonly options: HeatMapOptions) {
    this.#look = options.look;
    this.#range = options.range;
    this.#cursor = options.cursor ?? null;
    this.#pinned = this.#cursor !== null;
    this.#fitted = options.view === undefined;
    this.#view = options.view ?? fit(options.plane, this.#size);
    this.#tiles = new TileSource(options.fetch, () => this.#schedule(), options.onFail);
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label": options.label,
      "aria-keyshortcuts": "ArrowUp ArrowDown ArrowLeft ArrowRight + - 0 L G O Enter",
    });
    this.root = h("div", { class: "heat" }, h("div"), this.#top, this.#left, this.canvas, h("div"), this.#legend);
    this.#stop = listen(this.canvas, {
      hover: (spot) => this.#hover(spot),
      choose: (spot) => this.#choose(spot),
      open: (spot) => this.#withSpot(spot, options.onOpen),
      pan: (dx, dy) => this.#go(pan(this.#view, options.plane, this.#size, dx * this.#ratio, dy * this.#ratio)),
      zoom: (factor, spot) => this.#zoomAt(factor, spot.x * this.#ratio, spot.y * this.#ratio),
    });
    this.canvas.addEventListener("keydown", this.#onKey);
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.root);
    addEventListener("themechange", this.#recolour);
  }

  /** How it looks. */
  get look(): Look {
    return this.#look;
  }

  set look(look: Look) {
    this.#look = look;
    this.#recolour();
  }

  /** The numbers at the ends of the colours. */
  set range(range: Range) {
    this.#range = range;
    this.#recolour();
  }

  get view(): View {
    return this.#view;
  }

  /** Shows the same part as another map of the same size. */
  set view(view: View) {
    this.#view = keepInside(this.#clamped(view), this.options.plane, this.#size);
    this.#fitted = isFitted(this.#view, this.options.plane, this.#size);
    this.#schedule();
  }

  get cursor(): Spot | null {
    return this.#cursor;
  }

  /** Puts the cursor somewhere, and brings it into view. */
  set cursor(spot: Spot | null) {
    this.#cursor = spot;
    this.#pinned = spot !== null;
    if (spot) this.#go(reveal(this.#view, this.options.plane, this.#size, spot.row, spot.col));
    this.#schedule();
  }

  /** Marks a place that another map points at; the view stays. */
  point(spot: Spot | null): void {
    this.#cursor = spot;
    this.#schedule();
  }

  /** What one cell of the picture covers: numbers, down and across. */
  get cell(): { rows: number; cols: number } {
    return { rows: 2 ** level(this.#view.rowsPerPx), cols: 2 ** level(this.#view.colsPerPx) };
  }

  zoomBy(factor: number): void {
    const middle = this.#cursor ? place(this.#view, this.#cursor.row + 0.5, this.#cursor.col + 0.5) : { x: this.#size.width / 2, y: this.#size.height / 2 };
    const inside = middle.x >= 0 && middle.y >= 0 && middle.x <= this.#size.width && middle.y <= this.#size.height;
    this.#zoomAt(factor, inside ? middle.x : this.#size.width / 2, inside ? middle.y : this.#size.height / 2);
  }

  showAll(): void {
    this.#fitted = true;
    this.#view = fit(this.options.plane, this.#size);
    this.#moved();
  }

  /** The picture as SVG, rulers and colours with it. */
  picture(): SVGSVGElement {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const bare = document.createElement("canvas");
    [bare.width, bare.height] = [this.#size.width, this.#size.height];
    const to = bare.getContext("2d");
    if (to) draw(to, { ...this.#scene(), overlay: { ...this.#scene().overlay, cursor: null } });
    const move = (x: number, y: number, ...children: SVGElement[]) => svg("g", { transform: `translate(${x} ${y})` }, ...children);
    const colours = legend(this.#paint(), width, this.options.unit);
    const picture = canvasOf(
      LEFT + width + 8,
      TOP + height + 42,
      this.options.label,
      move(LEFT, 0, topRuler(this.#view, this.options.plane, width, this.#ratio)),
      move(0, TOP, leftRuler(this.#view, this.options.plane, height, this.#ratio)),
      svg("image", { x: LEFT, y: TOP, width, height, href: bare.toDataURL() }),
      move(LEFT, TOP + height + 6, ...(Array.from(colours.childNodes) as SVGElement[])),
    );
    // Styles are read from elements of the page.
    this.#legend.append(picture);
    queueMicrotask(() => picture.remove());
    return picture;
  }

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#rest);
    this.#stop();
    this.#observer.disconnect();
    this.#tiles.destroy();
    removeEventListener("themechange", this.#recolour);
  }

  #resize(): void {
    const width = this.root.clientWidth - LEFT;
    if (width <= 0) return;
    this.#ratio = devicePixelRatio || 1;
    const block = LARGEST * this.#ratio;
    const { plane, height: most } = this.options;
    const height = Math.min(most, plane.rows * LARGEST);
    const shown = Math.min(width, plane.cols * LARGEST);
    this.canvas.style.width = `${shown}px`;
    this.canvas.style.height = `${height}px`;
    const [w, hgt] = [Math.round(shown * this.#ratio), Math.round(height * this.#ratio)];
    if (w === this.canvas.width && hgt === this.canvas.height && this.#size.block === block) return;
    [this.canvas.width, this.canvas.height] = [w, hgt];
    this.#size = { width: w, height: hgt, block };
    this.#view = this.#fitted ? fit(plane, this.#size) : keepInside(this.#clamped(this.#view), plane, this.#size);
    this.#inks = null;
    this.options.onMove?.(this.#view);
    this.#schedule();
  }

  /** A view of an address, or of another screen, as near as it can be shown here. */
  #clamped(view: View): View {
    const whole = fit(this.options.plane, this.#size);
    return { ...view, rowsPerPx: Math.min(view.rowsPerPx, whole.rowsPerPx), colsPerPx: Math.min(view.colsPerPx, whole.colsPerPx) };
  }

  #onKey = (event: KeyboardEvent): void => {
    const { plane, tile } = this.options;
    const page = Math.max(1, Math.floor(this.#size.height * this.#view.rowsPerPx * 0.8));
    const action = actionOf(event, { tile, plane, page });
    if (!action) return;
    event.preventDefault();
    switch (action.do) {
      case "move": {
        const from = this.#cursor ?? this.#middle();
        const row = clamp(from.row + action.rows, plane.rows);
        const col = clamp(from.col + action.cols, plane.cols);
        this.cursor = { row, col };
        return this.options.onSpot(this.#cursor);
      }
      case "zoom":
        return this.zoomBy(action.factor);
      case "fit":
        return this.showAll();
      case "spacing":
        return this.options.onLook({ ...this.#look, spacing: this.#look.spacing === "log" ? "linear" : "log" });
      case "lines":
        return this.options.onLook({ ...this.#look, lines: !this.#look.lines });
      case "outlier":
        return this.nextOutlier();
      case "open":
        if (this.#cursor) this.options.onOpen(this.#cursor);
    }
  };

  /** Goes to the next of the outliers. */
  nextOutlier(): void {
    const outliers = this.options.outliers();
    if (outliers.length === 0) return;
    this.#outlier = (this.#outlier + 1) % outliers.length;
    this.cursor = outliers[this.#outlier]!;
    this.options.onSpot(this.#cursor);
  }

  #hover(spot: { x: number; y: number } | null): void {
    if (this.#pinned) return;
    const found = spot && at(this.#view, this.options.plane, spot.x * this.#ratio, spot.y * this.#ratio);
    if (found?.row === this.#cursor?.row && found?.col === this.#cursor?.col) return;
    this.#cursor = found;
    this.options.onSpot(found);
    this.#schedule();
  }

  /** A click holds the cursor; another one at the same place lets it go. */
  #choose(spot: { x: number; y: number }): void {
    this.#withSpot(spot, (found) => {
      const same = this.#pinned && found.row === this.#cursor?.row && found.col === this.#cursor.col;
      this.#pinned = !same;
      this.#cursor = found;
      this.options.onSpot(found);
      this.#schedule();
    });
  }

  #withSpot(spot: { x: number; y: number }, use: (spot: Spot) => void): void {
    const found = at(this.#view, this.options.plane, spot.x * this.#ratio, spot.y * this.#ratio);
    if (found) use(found);
  }

  #middle(): Spot {
    const middle = at(this.#view, this.options.plane, this.#size.width / 2, this.#size.height / 2);
    return middle ?? { row: Math.floor(this.options.plane.rows / 2), col: Math.floor(this.options.plane.cols / 2) };
  }

  #zoomAt(factor: number, x: number, y: number): boolean {
    const next = zoom(this.#view, this.options.plane, this.#size, factor, x, y);
    if (next.rowsPerPx === this.#view.rowsPerPx && next.colsPerPx === this.#view.colsPerPx) return false;
    this.#go(next);
    return true;
  }

  #go(view: View): void {
    this.#view = view;
    this.#fitted = isFitted(view, this.options.plane, this.#size);
    this.#moved();
  }

  #moved(): void {
    this.#schedule();
    this.options.onMove?.(this.#view);
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => this.options.onView(this.#fitted ? null : this.#view), 200) as unknown as number;
  }

  #recolour = (): void => {
    this.#bitmaps.clear();
    this.#inks = null;
    this.#schedule();
  };

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#render());
  }

  #render(): void {
    this.#frame = 0;
    const to = this.canvas.getContext("2d");
    if (!to || this.canvas.clientWidth === 0) return;
    this.#tiles.want(visibleTiles(this.#view, this.options.plane, this.#size));
    this.options.onWait(this.#tiles.waiting);
    draw(to, this.#scene());
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.#top.replaceChildren(ruler(width, TOP, topRuler(this.#view, this.options.plane, width, this.#ratio)));
    this.#left.replaceChildren(ruler(LEFT, height, leftRuler(this.#view, this.options.plane, height, this.#ratio)));
  }

  #drawLegend(): void {
    const room = Math.min(520, Math.max(200, this.root.clientWidth - LEFT));
    this.#legend.replaceChildren(legend(this.#paint(), room, this.options.unit));
  }

  /** The page's colours, read once for a theme: asking for them with every frame would lay the page out anew. */
  #ink(): Inks {
    if (this.#inks) return this.#inks;
    const names = ["--accent", "--nan", "--fg", "--bg", "--map-line"] as const;
    const [accent, nan, fg, bg, line] = names.map(token) as [string, string, string, string, string];
    this.#inks = { theme: theme(), accent, nan, fg, bg, line };
    this.#drawLegend();
    return this.#inks;
  }

  #paint(): Paint {
    const { signed } = this.options;
    const { spacing, map } = this.#look;
    const ink = this.#ink();
    return { table: lut(map, ink.theme), spacing, signed, range: this.#range, outlier: rgb(ink.accent), bad: rgb(ink.nan) };
  }

  #scene() {
    const { fg, bg, accent, line } = this.#ink();
    return {
      plane: this.options.plane,
      view: this.#view,
      size: this.#size,
      paint: this.#paint(),
      tiles: this.#tiles.tiles,
      bitmaps: this.#bitmaps,
      overlay: {
        tile: this.#look.lines ? this.options.tile : null,
        cursor: this.#cursor,
        colours: { line, cursor: fg, cursorEdge: bg, outlier: accent, outlierEdge: bg },
        ratio: this.#ratio,
      },
    };
  }
}

function ruler(width: number, height: number, content: SVGElement): SVGElement {
  const attributes = { viewBox: `0 0 ${width} ${height}`, width, height, class: "plot" };
  return svg("svg", attributes, content);
}

function clamp(n: number, count: number): number {
  return Math.max(0, Math.min(count - 1, n));
}
