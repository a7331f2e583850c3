// The list with what narrows and orders it.

import "./list.css";
import type { FoundFault } from "blockscale-wasm";
import { h } from "../dom.ts";
import type { Opened } from "../opened.ts";
import type { Route, RouteChange } from "../route.ts";
import type { Columns, Survey, SurveyState } from "../survey.ts";
import { counted, whole } from "../units.ts";
import { ListModel, ORDERS, type Order } from "./model.ts";
import { TreeView } from "./view.ts";

export interface PanelEvents {
  choose(weight: number): void;
  refine(change: RouteChange): void;
  /** Asks for the measure of the weights that are shown, or for its end. */
  survey(what: Survey, weights: Uint32Array): void;
  stopSurvey(): void;
  /** Asks for the headers of so many more shards. */
  readOn(shards: number): void;
  announce(text: string): void;
}

const ORDER_WORDS: Record<Order, string> = {
  name: "by module",
  size: "by size",
  findings: "by findings",
  outliers: "by outliers",
  sqnr: "by SQNR",
};

const FILTER_MS = 120;
/** Shards whose headers are read at a time, where not all are asked for. */
const NEXT_SHARDS = 8;

export class ListPanel {
  readonly element: HTMLElement;
  readonly #filter: HTMLInputElement;
  readonly #order: HTMLSelectElement;
  readonly #formats: HTMLElement;
  readonly #status: HTMLElement;
  readonly #parts = h("div", { class: "parts", hidden: true });
  readonly #measure: HTMLButtonElement;
  readonly #tree: TreeView;
  #model: ListModel | undefined;
  #survey: SurveyState | undefined;
  #comparable = false;
  #shown = "";
  #waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly events: PanelEvents) {
    this.#tree = new TreeView(events);
    this.#filter = h("input", {
      class: "filter",
      type: "search",
      placeholder: "Filter: words, or layers.3.*",
      "aria-label": "Filter tensors by name",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.#typed(),
      onkeydown: (event: KeyboardEvent) => {
        if (event.key !== "ArrowDown") return;
        event.preventDefault();
        this.#tree.element.focus();
      },
    });
    this.#order = h(
      "select",
      { class: "order", "aria-label": "Order of tensors", onchange: () => events.refine({ sort: this.#order.value === "name" ? null : this.#order.value }) },
      ...ORDERS.map((order) => h("option", { value: order }, ORDER_WORDS[order])),
    );
    this.#formats = h("div", { class: "formats", role: "group", "aria-label": "Formats to show" });
    this.#status = h("p", { class: "list-status" });
    this.#measure = h("button", { class: "button", type: "button", hidden: true, onclick: () => this.#measureOrStop() }, "Measure");
    this.element = h(
      "nav",
      { class: "list", "aria-label": "Tensors of the checkpoint" },
      h("div", { class: "list-head" }, this.#filter, h("div", { class: "list-line" }, this.#order, this.#measure), this.#formats, this.#status, this.#parts),
      this.#tree.element,
    );
  }

  show(opened: Opened, other: Opened | undefined, route: Route): void {
    this.#model = new ListModel(opened);
    this.#survey = undefined;
    this.#comparable = other !== undefined;
    this.#shown = "";
    this.#drawFormats(opened);
    this.#drawParts(opened);
    this.#tree.show(this.#model);
    this.update(route);
  }

  update(route: Route): void {
    const model = this.#model;
    if (!model) return;
    const order = ORDERS.find((order) => order === route.sort) ?? "name";
    const formats = route.fmt?.split(",") ?? [];
    const query = { text: route.q ?? "", formats };
    const key = JSON.stringify([order, query]);
    if (key !== this.#shown) {
      this.#shown = key;
      if (document.activeElement !== this.#filter) this.#filter.value = query.text;
      this.#order.value = order;
      for (const chip of this.#formats.querySelectorAll("button")) {
        chip.setAttribute("aria-pressed", String(formats.includes(chip.value)));
      }
      model.arrange(order, query);
      this.#tree.refresh();
      this.#say();
      this.events.announce(this.#status.textContent);
    }
    this.#tree.mark(route.w === undefined ? undefined : model.opened.names.find(route.w));
  }

  setFindings(findings: readonly FoundFault[]): void {
    this.#model?.setFindings(findings);
    this.#tree.refresh();
  }

  setMeasured(columns: Columns, state: SurveyState): void {
    this.#survey = state;
    this.#model?.setMeasured(columns);
    this.#tree.refresh();
    this.#say();
  }

  /** Says that something went wrong. */
  say(text: string): void {
    this.#status.textContent = text;
    this.events.announce(text);
  }

  focusFilter(): void {
    this.#filter.focus();
    this.#filter.select();
  }

  #typed(): void {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.events.refine({ q: this.#filter.value || null }), FILTER_MS);
  }

  #measureOrStop(): void {
    const what = surveyOf(this.#model?.order);
    if (this.#survey?.running) this.events.stopSurvey();
    else if (this.#model && what) this.events.survey(what, this.#model.weightsShown());
  }

  /** How many weights there are, and how many of them were measured. */
  #say(): void {
    const model = this.#model;
    if (!model) return;
    const all = model.opened.table.length;
    const parts = [model.fitting === all ? counted(all, "weight") : `${whole(model.fitting)} of ${counted(all, "weight")}`];
    const what = surveyOf(model.order);
    const running = this.#survey?.running;
    if (what === "errors" && !this.#comparable) parts.push("open another checkpoint to compare with (⇄)");
    else if (running) parts.push(`measured ${whole(running.done)} of ${whole(running.total)}`);
    else if (what && !this.#survey?.measured[what]) parts.push("not measured yet: takes a sample of each");
    this.#measure.hidden = what === undefined || (what === "errors" && !this.#comparable);
    this.#measure.textContent = running ? "Stop" : "Measure";
    this.#status.textContent = parts.join(" · ");
  }

  #drawFormats({ table }: Opened): void {
    const counts = new Uint32Array(table.formats.length);
    for (const id of table.formatIds) counts[id] = (counts[id] ?? 0) + 1;
    const chips = table.formats.map((format, id) =>
      h("button", { class: "chip", type: "button", value: format, "aria-pressed": "false", title: counted(counts[id] ?? 0, "tensor"), onclick: (event: MouseEvent) => this.#pressed(event) }, format),
    );
    this.#formats.replaceChildren(...chips);
    this.#formats.hidden = chips.length < 2;
  }

  /** What is not in the list: shards that were not read yet, and what a browser can't count. */
  #drawParts({ summary }: Opened): void {
    const { shards, unreadShards, tooWide } = summary;
    const unread = unreadShards.length;
    const next = Math.min(unread, NEXT_SHARDS);
    const button = (label: string, count: number) => h("button", { class: "button", type: "button", onclick: () => this.events.readOn(count) }, label);
    const parts = [
      tooWide.length > 0 && h("p", { title: tooWide.join("\n") }, `${counted(tooWide.length, "tensor")} of 2³² and more in one dimension left out: ${tooWide[0]}`),
      unread > 0 && h("p", {}, `Headers of ${whole(shards.length)} of ${counted(shards.length + unread, "shard")} read.`),
      unread > 0 && h("div", { class: "list-line" }, next < unread && button(`Read ${next} more`, next), button("Read all", unread)),
    ].filter((part) => part !== false);
    this.#parts.replaceChildren(...parts);
    this.#parts.hidden = parts.length === 0;
  }

  #pressed(event: MouseEvent): void {
    const chip = event.currentTarget as HTMLButtonElement;
    const pressed = [...this.#formats.querySelectorAll<HTMLButtonElement>("[aria-pressed=true]")].map(({ value }) => value);
    const next = pressed.includes(chip.value) ? pressed.filter((format) => format !== chip.value) : [...pressed, chip.value];
    this.events.refine({ fmt: next.length === 0 ? null : next.join(",") });
  }
}

/** What has to be measured for an order. */
function surveyOf(order: Order | undefined): Survey | undefined {
  return order === "outliers" ? "weights" : order === "sqnr" ? "errors" : undefined;
}
