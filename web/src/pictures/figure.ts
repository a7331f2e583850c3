// The frame of a picture: title, controls, read-out, the table behind it, and the way to take it away.

import { h } from "../dom.ts";
import { saveMenu } from "../export/menu.ts";
import type { Items, Plot } from "./plot.ts";
import { svg } from "./svg/element.ts";
import { type Table, tableElement } from "./table.ts";
import "./pictures.css";

export interface FigureOptions {
  title: string;
  /** Words of the names of saved files, and what they are about. */
  name: () => readonly string[];
  about: () => Record<string, unknown>;
  /** Buttons that change the picture. */
  controls?: HTMLElement[];
  failed(error: unknown): void;
}

/** A figure of plots: drawn again when its width, its theme or its data changes. */
export class Figure {
  readonly root: HTMLElement;
  #stage = h("div", { class: "stage" });
  #readout = h("p", { class: "readout", "aria-live": "polite" });
  #note = h("p", { class: "note" });
  #tableRoom = h("div", { class: "table-room" });
  #details = h("details", { class: "behind" }, h("summary", {}, "Table"), this.#tableRoom);
  #draw: ((width: number) => Plot) | null = null;
  #plot: Plot | null = null;
  #cursor: SVGElement | null = null;
  #at: number | null = null;
  #width = 0;
  #observer: ResizeObserver;

  constructor(options: FigureOptions) {
    const menu = saveMenu(
      () => (this.#plot ? { name: options.name(), about: options.about(), picture: () => this.#bare(), table: () => this.#plot!.table } : null),
      options.failed,
    );
    this.root = h(
      "figure",
      { class: "figure" },
      h("figcaption", {}, h("h2", {}, options.title), h("div", { class: "controls" }, ...(options.controls ?? []), menu)),
      this.#stage,
      this.#readout,
      this.#note,
      this.#details,
    );
    this.#details.addEventListener("toggle", () => this.#fillTable());
    this.#observer = new ResizeObserver(() => this.#resized());
    this.#observer.observe(this.#stage);
    addEventListener("themechange", this.#redraw);
  }

  /** Shows a plot; `draw` is called again for other widths. */
  show(draw: (width: number) => Plot): void {
    this.#draw = draw;
    this.root.classList.remove("waiting");
    this.#width = this.#stage.clientWidth;
    this.#redraw();
  }

  /** Dims what is there until something else is. */
  wait(): void {
    this.root.classList.add("waiting");
  }

  /** A sentence under the picture. */
  set note(text: string | (Node | string)[]) {
    this.#note.replaceChildren(...(typeof text === "string" ? [text] : text));
  }

  /** Something else in place of the picture. */
  say(...content: (Node | string)[]): void {
    this.#draw = this.#plot = null;
    this.root.classList.remove("waiting");
    this.#stage.replaceChildren(h("p", { class: "empty" }, ...content));
    this.#readout.textContent = "";
  }

  destroy(): void {
    this.#observer.disconnect();
    removeEventListener("themechange", this.#redraw);
  }

  #resized(): void {
    const width = this.#stage.clientWidth;
    if (width === this.#width || width === 0) return;
    this.#width = width;
    this.#redraw();
  }

  #redraw = (): void => {
    if (!this.#draw || this.#width === 0) return;
    const plot = this.#draw(Math.max(240, this.#width));
    const focused = this.#plot !== null && document.activeElement === this.#plot.node;
    this.#plot = plot;
    this.#stage.replaceChildren(plot.node);
    this.#cursor = null;
    if (plot.items) this.#readable(plot.node, plot.items);
    if (focused) plot.node.focus();
    this.#fillTable();
  };

  #readable(node: SVGSVGElement, items: Items): void {
    node.setAttribute("tabindex", "0");
    // A picture that is gone over is more than an image.
    node.setAttribute("role", "application");
    node.setAttribute("aria-roledescription", "plot; arrow keys read it out");
    node.addEventListener("pointermove", (event) => {
      const box = node.getBoundingClientRect();
      const scale = node.viewBox.baseVal.width / box.width;
      this.#go(items, items.pick((event.clientX - box.left) * scale, (event.clientY - box.top) * scale));
    });
    node.addEventListener("pointerleave", () => document.activeElement !== node && this.#go(items, null));
    node.addEventListener("blur", () => this.#go(items, null));
    node.addEventListener("click", () => this.#at !== null && items.open?.(this.#at));
    if (items.open) node.classList.add("opens");
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.#at !== null) items.open?.(this.#at);
      const next = step(event.key, this.#at, items);
      if (next === null) return;
      event.preventDefault();
      this.#go(items, next);
    });
  }

  #go(items: Items, at: number | null): void {
    if (at === this.#at && this.#cursor) return;
    this.#at = at;
    this.#readout.textContent = at === null ? "" : items.text(at);
    this.#cursor?.remove();
    this.#cursor = null;
    if (at === null || !this.#plot) return;
    const mark = items.mark(at);
    this.#cursor = svg("rect", { ...mark, class: "cursor" });
    this.#plot.node.append(this.#cursor);
  }

  /** The picture without the cursor. */
  #bare(): SVGSVGElement | null {
    this.#cursor?.remove();
    this.#cursor = null;
    return this.#plot?.node ?? null;
  }

  #fillTable(): void {
    if (this.#details.open && this.#plot) this.#tableRoom.replaceChildren(scrollable(this.#plot.table));
  }
}

/** A table in a box that scrolls and can be reached by key. */
export function scrollable(table: Table): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": table.caption }, tableElement(table));
}

/** The item that a key goes to, or none. */
export function step(key: string, at: number | null, items: Pick<Items, "count" | "across">): number | null {
  const moves: Record<string, number> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -(items.across ?? 1),
    ArrowDown: items.across ?? 1,
    Home: -items.count,
    End: items.count,
  };
  const move = moves[key];
  if (move === undefined || items.count === 0) return null;
  if (at === null) return key === "End" ? items.count - 1 : 0;
  return Math.min(items.count - 1, Math.max(0, at + move));
}
