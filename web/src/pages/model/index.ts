// The page of a checkpoint as a whole: what it is made of, and where to look first.

import type { FoundFault } from "blockscale-wasm";
import { h } from "../../dom.ts";
import { weightOf } from "../../list/findings.ts";
import { lut } from "../../pictures/colour/maps.ts";
import { theme } from "../../pictures/colour/theme.ts";
import { Figure } from "../../pictures/figure.ts";
import { type LayerCell, layerGrid } from "../../pictures/layers.ts";
import { treemap } from "../../pictures/treemap.ts";
import type { Route } from "../../route.ts";
import { bytes, counted, exactBytes, whole } from "../../units.ts";
import type { Mount, Page, PageContext } from "../page.ts";
import { select } from "../parts/choose.ts";
import { problem } from "../parts/problem.ts";
import { findingsList } from "../tensor/findings.ts";
import { configSummary } from "./config.ts";
import { cellsOf, partsOf } from "./parts.ts";
import { type Statistic, statistics } from "./statistics.ts";
import "../tensor/tensor.css";
import "./model.css";

/** Findings that are listed; more are counted. */
const LISTED = 100;
/** Colours of formats that there are. */
const COLOURS = 8;

export const mount: Mount = (root, context) => new ModelPage(root, context);

class ModelPage implements Page {
  #areas: Figure;
  #grid: Figure;
  #failure = h("div", { class: "failure" });
  #statistics: Statistic[];
  #choice: HTMLSelectElement;
  #measure = h("button", { type: "button", class: "button small" });
  #findings = h("section", { class: "figure", "aria-label": "Findings" });
  #forget: () => void;

  constructor(
    private readonly root: HTMLElement,
    private readonly context: PageContext,
  ) {
    const { main, router } = context;
    const failed = (error: unknown) => {
      const shown = problem(error);
      if (shown) this.#failure.replaceChildren(shown);
    };
    const named = (picture: string) => () => [main.name, picture];
    const about = () => ({ checkpoint: main.name });
    this.#statistics = statistics(context);
    this.#choice = select("Statistic", this.#statistics.map(({ id, name }) => ({ value: id, text: name })), this.#statistic(router.route).id, (stat) => router.refine({ stat }));
    this.#areas = new Figure({ title: "Bytes", name: named("bytes"), about, failed });
    this.#grid = new Figure({ title: "By layer and module", name: named("layers"), about, controls: [this.#measure, this.#choice], failed });
    root.classList.add("tensor-page", "model-page");
    root.replaceChildren(this.#head(), this.#failure, this.#areas.root, this.#grid.root, h("div", { class: "pair" }, this.#findings, configSummary(main.summary.config, main.summary.hfQuantConfig)));
    this.#drawAreas();
    this.#list(main.findings);
    this.update(router.route);
    const forget = [context.surveyor.changed.add(() => this.update(router.route)), context.surveyor.found.add((findings) => this.#list(findings))];
    this.#forget = () => forget.forEach((each) => each());
    this.#measure.addEventListener("click", () => this.#toggle(failed));
  }

  /** Measures what the chosen statistic needs, or stops that. */
  #toggle(failed: (error: unknown) => void): void {
    const { surveyor, main, router } = this.context;
    const { needs } = this.#statistic(router.route);
    if (surveyor.state.running) return surveyor.stop();
    if (needs) surveyor.run(needs, Uint32Array.from({ length: main.table.length }, (_, weight) => weight)).catch(failed);
  }

  update(route: Route): void {
    const statistic = this.#statistic(route);
    this.#choice.value = statistic.id;
    const { running } = this.context.surveyor.state;
    this.#measure.hidden = !statistic.needs;
    this.#measure.textContent = running ? `Stop, ${whole(running.done)} of ${whole(running.total)}` : "Measure all weights";
    const { main } = this.context;
    const cells = measuredOnly(cellsOf(main, statistic));
    if (cells.length === 0) return this.#grid.say("No weight has a layer's number in its name.");
    this.#grid.show((width) => layerGrid({ statistic: statistic.name, cells, write: statistic.write }, width, lut("viridis", theme()), (weight) => this.#open(weight)));
    this.#grid.note = "Experts of a layer are one cell: the worst of them. Choose a cell to see the weight.";
  }

  destroy(): void {
    this.#forget();
    this.#areas.destroy();
    this.#grid.destroy();
    this.root.classList.remove("tensor-page", "model-page");
    this.root.replaceChildren();
  }

  #statistic(route: Route): Statistic {
    return this.#statistics.find(({ id }) => id === route.stat) ?? this.#statistics[0]!;
  }

  #open(weight: number): void {
    this.context.router.go({ w: this.context.main.names.name(weight), tab: null, stat: null, view: null, b: null });
  }

  #head(): HTMLElement {
    const { summary, name, table } = this.context.main;
    return h(
      "header",
      { class: "tensor-head" },
      h("h1", {}, name),
      h(
        "p",
        { class: "facts" },
        summary.modelType ? h("strong", {}, summary.modelType) : null,
        summary.modelType ? " · " : null,
        summary.dialect ? `${summary.dialect} · ` : null,
        `${counted(table.length, "weight")} in ${counted(summary.tensors, "tensor")} and ${counted(summary.shards.length, "file")} · `,
        h("span", { title: exactBytes(summary.tensorBytes) }, bytes(summary.tensorBytes)),
      ),
      ...summary.refusals.slice(0, 5).map((text) => h("p", { class: "remark" }, text)),
    );
  }

  #drawAreas(): void {
    const { main, router } = this.context;
    const parts = partsOf(main);
    if (parts.length === 0) return this.#areas.say("There are no weights.");
    const order = [...new Set(parts.map(({ format }) => format))].sort((a, b) => bytesOf(parts, b) - bytesOf(parts, a));
    const colour = (format: string) => Math.min(COLOURS - 1, order.indexOf(format));
    this.#areas.show((width) => treemap(parts, width, width < 520 ? 300 : 360, colour, (part) => router.refine({ q: part.name.split("*").pop()?.replace(/^\./, "") ?? null, fmt: part.format })));
    this.#areas.note = order.map((format) => h("span", { class: "key" }, swatch(colour(format)), `${format} ${bytes(bytesOf(parts, format))}`));
  }

  /** Findings as a list that leads to the weights; measuring may add some. */
  #list(findings: readonly FoundFault[]): void {
    const { names } = this.context.main;
    const open = (tensor: string) => {
      const weight = weightOf(tensor, names);
      if (weight !== undefined) this.#open(weight);
    };
    this.#findings.replaceChildren(
      h("h2", {}, findings.length === 0 ? "Findings" : counted(findings.length, "finding")),
      findingsList(findings.slice(0, LISTED), open),
      findings.length > LISTED ? h("p", { class: "note" }, `The first ${LISTED} are listed; \`blockscale doctor\` prints all.`) : "",
    );
  }
}

/** Modules of which something is known, once anything is: norms have no scales, and would be empty rows. */
function measuredOnly(cells: LayerCell[]): LayerCell[] {
  const known = new Set(cells.filter(({ value }) => !Number.isNaN(value)).map(({ module }) => module));
  return known.size === 0 ? cells : cells.filter(({ module }) => known.has(module));
}

function bytesOf(parts: ReturnType<typeof partsOf>, format: string): number {
  return parts.reduce((sum, part) => (part.format === format ? sum + part.bytes : sum), 0);
}

function swatch(colour: number): HTMLElement {
  return h("span", { class: `swatch format-${colour}`, "aria-hidden": "true" });
}
