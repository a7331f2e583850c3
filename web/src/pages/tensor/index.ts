// The page of one weight: what it is, how its bytes are read, and its pictures in tabs.

import type { Judgement, Score, WeightDetails } from "blockscale-wasm";
import { h } from "../../dom.ts";
import { weightOf } from "../../list/findings.ts";
import { MAIN } from "../../protocol/calls.ts";
import type { Subject } from "../../protocol/look.ts";
import type { Route } from "../../route.ts";
import { bytes, exactBytes, whole } from "../../units.ts";
import type { Mount, Page, PageContext } from "../page.ts";
import { comparePanel } from "../compare/index.ts";
import { problem } from "../parts/problem.ts";
import { Tabs } from "../parts/tabs.ts";
import { Newest } from "./asked.ts";
import { blocksPanel } from "./blocks.ts";
import { codesPanel } from "./codes.ts";
import { findingsList } from "./findings.ts";
import type { Panel, Tools } from "./panel.ts";
import { ReadingBar } from "./reading-bar.ts";
import { scalesPanel } from "./scales.ts";
import { isAsDeclared, routeOf, subjectOf, type TensorContext } from "./subject.ts";
import { weightsPanel } from "./weights.ts";
import "./tensor.css";

export const mount: Mount = (root, context) => new TensorPage(root, context);

class TensorPage implements Page {
  #opening = new Newest();
  #name = "";
  #shown: Weight | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly context: PageContext,
  ) {
    root.classList.add("tensor-page");
    this.update(context.router.route);
  }

  update(route: Route): void {
    const name = route.w ?? "";
    if (name === this.#name && this.#shown) return this.#shown.update(route);
    this.#name = name;
    this.#shown?.destroy();
    this.#shown = null;
    const weight = this.context.main.names.find(name);
    // The page is shown for weights that there are.
    if (weight === undefined) return;
    const { client } = this.context;
    void this.#opening.run(
      (signal) => Promise.all([client.call("weight", { checkpoint: MAIN, weight }, { signal }), client.call("orders", { checkpoint: MAIN, weight }, { signal })]),
      ([details, orders]) => {
        this.#shown = new Weight(this.root, this.context, weight, details, orders);
        this.#shown.update(this.context.router.route);
      },
      (error) => {
        const shown = problem(error, () => ((this.#name = ""), this.update(this.context.router.route)));
        if (shown) this.root.replaceChildren(shown);
      },
    );
  }

  destroy(): void {
    this.#opening.cancel();
    this.#shown?.destroy();
    this.root.classList.remove("tensor-page");
    this.root.replaceChildren();
  }
}

/** A weight with its tabs. */
class Weight {
  #tabs: Tabs;
  #bar: ReadingBar;
  #matrix: HTMLInputElement | null = null;
  #failure = h("div", { class: "failure" });
  #panel: Panel | null = null;
  #state = "";
  #tab = "";
  #room: HTMLElement | null = null;
  #scoring = new Newest();
  #declaredScore: { matrix: number; score: Score } | null = null;
  #judging = new Newest();
  #judged: { matrix: number; judgement: Judgement | null } | null = null;
  #first: string;
  #ids: string[];
  #forget: () => void;

  constructor(
    root: HTMLElement,
    private readonly page: PageContext,
    private readonly weight: number,
    private readonly details: WeightDetails,
    private readonly layouts: string[],
  ) {
    const findings = this.#findings();
    const plane = details.scalePlane;
    const tabs = [
      plane ? { id: "scales", text: "Scales" } : null,
      { id: "weights", text: "Weights" },
      details.element ? { id: "codes", text: "Codes" } : null,
      plane ? { id: "blocks", text: "Blocks" } : null,
      { id: "compare", text: "Compare" },
      { id: "findings", text: "Findings", badge: findings.length > 0 ? String(findings.length) : undefined },
    ].filter((tab) => tab !== null);
    this.#ids = tabs.map(({ id }) => id);
    this.#first = tabs[0]!.id;
    this.#tabs = new Tabs("Pictures of the weight", tabs, (tab) => page.router.go({ tab: tab === this.#first ? null : tab, view: null }));
    this.#bar = new ReadingBar(details, layouts, (reading) => page.router.refine(routeOf(reading)));
    this.#forget = page.surveyor.found.add(() => this.#found());
    root.replaceChildren(this.#head(), this.#bar.root, this.#tabs.root, this.#failure, this.#tabs.panel);
  }

  update(route: Route): void {
    const subject = subjectOf(this.weight, route, this.details, this.layouts);
    const tab = this.#tabOf(route);
    const state = JSON.stringify([subject, tab, tab === "compare" ? [route.stat, route.with] : null]);
    if (this.#matrix) this.#matrix.value = String(subject.matrix);
    if (state === this.#state) return;
    this.#state = state;
    this.#tabs.chosen = tab;
    this.#bar.show(subject.reading);
    this.#failure.replaceChildren();
    this.#show(tab, subject);
  }

  /**
   * Builds the panel of a tab. Where only the reading changed, what was shown stays until the new picture is there: it
   * changes before the eyes, and nothing jumps.
   */
  #show(tab: string, subject: Subject): void {
    const stays = tab === this.#tab ? this.#room : null;
    const [before, room] = [this.#panel, h("div", { class: `tab-${tab}` })];
    this.#tab = tab;
    this.#room = room;
    let shown = false;
    const ready = () => {
      if (shown || this.#room !== room) return;
      shown = true;
      room.classList.remove("coming");
      if (stays) this.#tabs.panel.replaceChildren(room);
      // What the bytes say of the reading comes after the picture.
      this.#score(subject);
      this.#judge(subject);
    };
    if (stays) {
      room.classList.add("coming");
      this.#tabs.panel.replaceChildren(stays, room);
    } else this.#tabs.panel.replaceChildren(room);
    // Whatever happens to the picture, it is not waited for longer.
    setTimeout(ready, 2000);
    this.#panel = this.#build(room, tab, subject, ready);
    before?.destroy();
  }

  destroy(): void {
    this.#forget();
    this.#scoring.cancel();
    this.#judging.cancel();
    this.#panel?.destroy();
  }

  #tabOf(route: Route): string {
    const tab = route.tab ?? this.#first;
    return this.#ids.includes(tab) ? tab : this.#first;
  }

  #build(room: HTMLElement, tab: string, subject: Subject, ready: () => void): Panel {
    const findings = this.#findings();
    const context: TensorContext = { page: this.page, weight: this.weight, details: this.details, subject, layouts: this.layouts, findings };
    const tools: Tools = {
      openBlock: (row, block) => this.page.router.go({ tab: "blocks", b: `${row}.${block}`, view: null }),
      ready,
      failed: (error) => {
        const shown = problem(error);
        if (shown) this.#failure.replaceChildren(shown);
      },
    };
    switch (tab) {
      case "scales":
        return scalesPanel(room, context, tools);
      case "weights":
        return weightsPanel(room, context, tools);
      case "codes":
        return codesPanel(room, context, tools);
      case "blocks":
        return blocksPanel(room, context, tools);
      case "compare":
        return comparePanel(room, context, tools);
      default:
        room.replaceChildren(findingsList(findings));
        ready();
        return { destroy: () => undefined };
    }
  }

  /** Measuring has found more. */
  #found(): void {
    const findings = this.#findings();
    this.#tabs.badge("findings", findings.length > 0 ? String(findings.length) : "");
    if (this.#tab === "findings") this.#room?.replaceChildren(findingsList(findings));
  }

  /** Findings of the weight's own tensors. */
  #findings() {
    const { findings, names } = this.page.main;
    return findings.filter(({ tensor }) => tensor !== null && weightOf(tensor, names) === this.weight);
  }

  #head(): HTMLElement {
    const { details } = this;
    const size = details.parts.reduce((sum, { start, end }) => sum + end - start, 0);
    const shape = [details.matrices > 1 ? `${whole(details.matrices)} × ` : "", `${whole(details.rows)} × ${whole(details.cols)}`].join("");
    const plane = details.scalePlane;
    return h(
      "header",
      { class: "tensor-head" },
      h("h1", { class: "mono" }, details.name),
      h(
        "p",
        { class: "facts" },
        h("strong", {}, details.format),
        plane ? ` · scales ${details.layout}` : "",
        this.page.main.summary.dialect ? ` · ${this.page.main.summary.dialect}` : "",
        ` · ${shape} · `,
        h("span", { title: exactBytes(size) }, bytes(size)),
        plane ? ` · ${whole(plane.rows)} × ${whole(plane.cols)} ${plane.element} scales, one for ${whole(plane.blockRows)} × ${whole(plane.blockCols)}` : "",
      ),
      details.matrices > 1 ? this.#matrixField() : null,
    );
  }

  /** Which of several matrices, experts most of the time. */
  #matrixField(): HTMLElement {
    const last = this.details.matrices - 1;
    const go = (matrix: number) => {
      const next = Math.min(Math.max(0, Math.trunc(matrix) || 0), last);
      this.page.router.refine({ m: next === 0 ? null : String(next), b: null, view: null });
    };
    const input = h("input", { type: "number", id: "matrix", min: 0, max: last, step: 1, onchange: () => go(Number(input.value)) });
    this.#matrix = input;
    const step = (text: string, label: string, by: number) => h("button", { type: "button", class: "button", "aria-label": label, title: label, onclick: () => go(Number(input.value) + by) }, text);
    return h("div", { class: "row" }, h("label", { for: "matrix" }, "matrix"), input, h("span", { class: "muted" }, `of ${whole(this.details.matrices)}`), step("◂", "Matrix before", -1), step("▸", "Next matrix", 1));
  }

  /** How well the reading explains the bytes, beside the declared one. */
  #score(subject: Subject): void {
    if (!this.#bar.useful) return;
    const { client } = this.page;
    const ask = (reading: Subject["reading"], signal: AbortSignal) => client.call("score", { subject: { ...subject, reading } }, { signal });
    void this.#scoring.run(
      async (signal) => {
        const now = await ask(subject.reading, signal);
        if (isAsDeclared(subject.reading)) this.#declaredScore = { matrix: subject.matrix, score: now };
        else if (this.#declaredScore?.matrix !== subject.matrix) this.#declaredScore = { matrix: subject.matrix, score: await ask({}, signal) };
        return [now, this.#declaredScore!.score] as const;
      },
      ([now, stated]) => this.#bar.score(now, stated),
      // The panel below says what is wrong with the bytes.
      () => undefined,
    );
  }

  /** What the bytes alone say of how they are meant. */
  #judge(subject: Subject): void {
    if (!this.#bar.useful) return;
    if (this.#judged?.matrix === subject.matrix) return this.#bar.verdict(this.#judged.judgement, subject.reading);
    const { weight, matrix } = subject;
    void this.#judging.run(
      (signal) => this.page.client.call("judge", { checkpoint: MAIN, weight, matrix }, { signal }),
      (judgement) => {
        this.#judged = { matrix, judgement };
        this.#bar.verdict(judgement, subject.reading);
      },
      () => undefined,
    );
  }
}
