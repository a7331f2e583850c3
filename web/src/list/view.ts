// The list as a person sees it: an ARIA tree with the keys of one.

import { h } from "../dom.ts";
import { bytes, whole } from "../units.ts";
import type { ListModel, Row } from "./model.ts";
import { VirtualRows } from "./virtual.ts";

const ROW_HEIGHT = 24;
/** A pause after which typing begins a new word. */
const WORD_MS = 700;

export interface TreeEvents {
  /** A weight was chosen. */
  choose(weight: number): void;
}

export class TreeView {
  readonly element: HTMLElement;
  readonly #rows: VirtualRows;
  #model: ListModel | undefined;
  #chosen: number | undefined;
  #typed = "";
  #typedAt = 0;

  constructor(private readonly events: TreeEvents) {
    this.element = h("div", {
      class: "tree",
      role: "tree",
      tabindex: 0,
      "aria-label": "Tensors",
      onkeydown: (event: KeyboardEvent) => this.#key(event),
      onclick: (event: MouseEvent) => this.#click(event),
    });
    this.#rows = new VirtualRows(this.element, { rowHeight: ROW_HEIGHT, fill: (element, row) => this.#fill(element, row) });
  }

  show(model: ListModel): void {
    this.#model = model;
    this.#chosen = undefined;
    this.element.scrollTop = 0;
    this.refresh();
  }

  /** Draws anew after the model has changed. */
  refresh(): void {
    const model = this.#model;
    this.#rows.setCount(model?.length ?? 0);
    this.#point();
  }

  /** Marks the weight that is shown, and brings it into sight. */
  mark(weight: number | undefined): void {
    const changed = this.#chosen !== weight;
    this.#chosen = weight;
    const row = weight === undefined || !changed ? undefined : this.#model?.show(weight);
    this.refresh();
    if (row !== undefined) this.#rows.reveal(row, "centre");
    this.#point();
  }

  destroy(): void {
    this.#rows.destroy();
  }

  #fill(element: HTMLElement, at: number): void {
    const model = this.#model;
    if (!model) return;
    const row = model.row(at);
    const current = at === model.current;
    element.id = `row-${at}`;
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", String(row.depth + 1));
    element.setAttribute("aria-posinset", String(row.position));
    element.setAttribute("aria-setsize", String(row.siblings));
    element.setAttribute("aria-selected", String(row.weight !== undefined && row.weight === this.#chosen));
    if (row.open === undefined) element.removeAttribute("aria-expanded");
    else element.setAttribute("aria-expanded", String(row.open));
    element.classList.toggle("current", current);
    element.style.setProperty("--depth", String(row.depth));
    element.replaceChildren(...contents(row, model));
  }

  #point(): void {
    const model = this.#model;
    if (model && model.length > 0) this.element.setAttribute("aria-activedescendant", `row-${model.current}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #move(to: number): void {
    const model = this.#model;
    if (!model || model.length === 0) return;
    model.current = to;
    this.#rows.reveal(model.current);
    this.#rows.render();
    this.#point();
  }

  #activate(): void {
    const model = this.#model;
    if (!model || model.length === 0) return;
    const { weight } = model.row(model.current);
    if (weight !== undefined) return this.events.choose(weight);
    model.toggle(model.current);
    this.refresh();
  }

  #click(event: MouseEvent): void {
    const element = (event.target as HTMLElement).closest<HTMLElement>(".virtual-row");
    const row = element && this.#rows.rowOf(element);
    if (row === undefined || row === null) return;
    this.#move(row);
    this.#activate();
  }

  #key(event: KeyboardEvent): void {
    const model = this.#model;
    if (!model || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = model.current;
    const act = this.#action(event.key, at, model);
    if (act) {
      event.preventDefault();
      event.stopPropagation();
      return act();
    }
    if (event.key.length === 1 && event.key !== "/" && event.key !== "?") this.#type(event, model);
  }

  #action(key: string, at: number, model: ListModel): (() => void) | undefined {
    switch (key) {
      case "ArrowDown":
        return () => this.#move(at + 1);
      case "ArrowUp":
        return () => this.#move(at - 1);
      case "PageDown":
        return () => this.#move(at + this.#rows.page);
      case "PageUp":
        return () => this.#move(at - this.#rows.page);
      case "Home":
        return () => this.#move(0);
      case "End":
        return () => this.#move(model.length - 1);
      case "ArrowRight":
        return () => this.#into(at, model);
      case "ArrowLeft":
        return () => this.#outOf(at, model);
      case "Enter":
        return () => this.#activate();
      case " ":
        // A space inside a word that is being typed belongs to it.
        return this.#typing() ? undefined : () => this.#activate();
      default:
        return undefined;
    }
  }

  /** Opens a module, or goes to the first thing in it. */
  #into(at: number, model: ListModel): void {
    const { open } = model.row(at);
    if (open === undefined) return;
    if (open) return this.#move(at + 1);
    model.toggle(at, "open");
    this.refresh();
  }

  /** Closes a module, or goes to the one around. */
  #outOf(at: number, model: ListModel): void {
    if (model.row(at).open) {
      model.toggle(at, "closed");
      return this.refresh();
    }
    const parent = model.parent(at);
    if (parent !== undefined && parent >= 0) this.#move(parent);
  }

  #typing(): boolean {
    return this.#typed !== "" && performance.now() - this.#typedAt < WORD_MS;
  }

  #type(event: KeyboardEvent, model: ListModel): void {
    this.#typed = this.#typing() ? this.#typed + event.key : event.key;
    this.#typedAt = performance.now();
    event.preventDefault();
    event.stopPropagation();
    const found = model.startingWith(this.#typed);
    if (found !== undefined) this.#move(found);
  }
}

function contents(row: Row, model: ListModel): Node[] {
  const { table } = model.opened;
  const marker = row.open === undefined ? "" : row.open ? "▾" : "▸";
  const parts: Node[] = [h("span", { class: "marker", "aria-hidden": "true" }, marker), h("span", { class: "label", title: row.label }, plainName(row.label))];
  const { weight } = row;
  if (weight === undefined) {
    parts.push(h("span", { class: "count" }, whole(row.weights), h("span", { class: "visually-hidden" }, row.weights === 1 ? " tensor" : " tensors")));
    return parts;
  }
  if (row.findings > 0) parts.push(findingsMark(row));
  const fact = factOf(model, weight);
  if (fact) parts.push(h("span", { class: "fact" }, fact));
  const layout = table.layouts[table.layoutIds[weight] ?? 0] ?? "linear";
  if (layout !== "linear") parts.push(h("span", { class: "badge layout", title: `scales in the layout ${layout}` }, layout));
  parts.push(h("span", { class: "badge" }, table.formats[table.formatIds[weight] ?? 0] ?? ""));
  return parts;
}

/** The number that the list is ordered by. */
function factOf(model: ListModel, weight: number): string | undefined {
  const { peak, sqnr } = model.measured(weight);
  switch (model.order) {
    case "size":
      return bytes(model.opened.table.bytes[weight] ?? 0);
    case "outliers":
      return peak === undefined ? undefined : `${peak.toFixed(1)} × rms`;
    case "sqnr":
      return sqnr === undefined ? undefined : sqnr === Number.POSITIVE_INFINITY ? "equal" : `${sqnr.toFixed(1)} dB`;
    default:
      return undefined;
  }
}

/** Nearly all names end in `.weight`: what differs is shown. */
function plainName(label: string): string {
  return label.length > ".weight".length ? label.replace(/\.weight$/, "") : label;
}

function findingsMark(row: Row): Node {
  const words = `${row.findings} ${row.severity ?? "info"}${row.findings === 1 ? "" : "s"}`;
  return h("span", { class: `mark ${row.severity ?? "info"}`, title: words }, "●", h("span", { class: "visually-hidden" }, ` ${words}`));
}
