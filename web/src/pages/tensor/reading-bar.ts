// How the bytes are read: what the file declares, what is chosen, and how well it explains the bytes.

import type { Judgement, Score, WeightDetails } from "blockscale-wasm";
import { h } from "../../dom.ts";
import { number } from "../../pictures/format.ts";
import type { Reading } from "../../protocol/look.ts";
import { type Choice, Segmented, select } from "../parts/choose.ts";
import { declared, inWords, isAsDeclared, open } from "./subject.ts";

/** Layouts that get a button; others are in a list. */
const NEAR = ["linear", "tiles-128x4", "deepgemm-packed"];
/** What a verdict is about. */
const QUESTIONS: Record<Judgement["answers"][number]["question"], string> = {
  "scale-order": "order of scales",
  "row-order": "order of rows",
  "nibble-order": "nibbles",
  sign: "signs",
  "global-scale": "global scale",
};
const NAMES: Record<string, string> = { linear: "linear", "tiles-128x4": "128×4 tiles", "deepgemm-packed": "packed" };

export class ReadingBar {
  readonly root = h("section", { class: "reading-bar", "aria-label": "Interpretation" });
  #score = h("div", { class: "score", "aria-live": "polite" });
  #state = h("p", { class: "reading-state" });
  #stated = h("span", { class: "muted" });
  #verdict = h("p", { class: "verdict", "aria-live": "polite" });

  constructor(
    private readonly details: WeightDetails,
    private readonly layouts: readonly string[],
    private readonly change: (reading: Reading) => void,
  ) {}

  /** Whether there is anything to choose. */
  get useful(): boolean {
    const asked = open(this.details);
    return asked.nibbles || asked.layout || asked.use || asked.global;
  }

  show(reading: Reading): void {
    const stated = declared(this.details);
    const asked = open(this.details);
    const chosen = { ...stated, ...reading };
    const put = (key: keyof Reading, value: string) => {
      const next: Record<string, string> = { ...reading, [key]: value };
      if (value === stated[key]) delete next[key];
      this.change(next as Reading);
    };
    const group = (title: string, control: HTMLElement) => h("div", { class: "group" }, h("span", { class: "label" }, title), control);
    const mark = <T extends string>(choices: Choice<T>[], value: string) => choices.map((choice) => ({ ...choice, declared: choice.value === value }));
    const focused = this.#focused();
    const controls: HTMLElement[] = [];
    if (asked.layout && this.layouts.length > 1) {
      const near = this.layouts.filter((name) => NEAR.includes(name) || name === stated.layout);
      const far = this.layouts.filter((name) => !near.includes(name));
      const choices = near.map((value) => ({ value, text: NAMES[value] ?? value }));
      const buttons = new Segmented("Scale layout", mark(choices, stated.layout), chosen.layout, (value) => put("layout", value)).root;
      const rest = [{ value: "", text: "other…" }, ...far.map((value) => ({ value, text: value }))];
      const list = far.length > 0 ? select("Other scale layouts", rest, far.includes(chosen.layout) ? chosen.layout : "", (value) => value && put("layout", value)) : null;
      controls.push(group("scale layout", list ? h("div", { class: "row" }, buttons, list) : buttons));
    }
    if (asked.nibbles) {
      const choices: Choice<"low-first" | "high-first">[] = [
        { value: "low-first", text: "low first", title: "The even column is in the low half of a byte" },
        { value: "high-first", text: "high first", title: "The even column is in the high half of a byte" },
      ];
      controls.push(group("nibbles", new Segmented("Nibble order", mark(choices, stated.nibbles), chosen.nibbles, (value) => put("nibbles", value)).root));
    }
    if (asked.use) {
      const choices: Choice<"multiplies" | "divides">[] = [
        { value: "multiplies", text: "multiply" },
        { value: "divides", text: "divide" },
      ];
      controls.push(group("scales", new Segmented("Use of the scales", mark(choices, stated.use), chosen.use, (value) => put("use", value)).root));
    }
    if (asked.global) {
      const choices: Choice<"multiplier" | "divisor" | "none">[] = [
        { value: "multiplier", text: "multiplies" },
        { value: "divisor", text: "divides" },
        { value: "none", text: "left out" },
      ];
      controls.push(group("global scale", new Segmented("Use of the global scale", mark(choices, stated.global), chosen.global, (value) => put("global", value)).root));
    }
    this.root.hidden = controls.length === 0;
    this.#stated.textContent = "";
    this.#state.replaceChildren(
      ...(isAsDeclared(reading)
        ? []
        : [
            h("strong", {}, "Not as declared"),
            `: ${inWords(reading)}. `,
            this.#stated,
            h("button", { type: "button", class: "button plain small", onclick: () => this.change({}) }, "Read as declared"),
          ]),
    );
    this.root.classList.toggle("undeclared", !isAsDeclared(reading));
    this.root.replaceChildren(...controls, this.#score, this.#state, this.#verdict);
    if (focused) this.root.querySelector<HTMLElement>(focused)?.focus();
  }

  /** Shows how well the reading explains the bytes, beside the declared one. */
  score(now: Score, asDeclared: Score): void {
    const [share, stated] = [Number(now.explained), Number(asDeclared.explained)];
    if (Number.isNaN(share) || Number(now.free) < 1) {
      this.#score.replaceChildren(h("span", { class: "muted" }, "too few blocks, or all alike: no score"));
      return;
    }
    const bar = h("span", { class: "meter", "aria-hidden": "true" }, h("span", {}));
    (bar.firstElementChild as HTMLElement).style.width = `${Math.round(100 * Math.max(0, share))}%`;
    this.#score.replaceChildren(h("span", { class: "label" }, "rows and columns explain"), h("span", { class: "row" }, bar, h("strong", {}, percent(share))));
    this.#stated.textContent = now === asDeclared || Number.isNaN(stated) ? "" : `As declared they explain ${percent(stated)}. `;
    const full = now.blockMaximum === null ? "" : ` ${percent(now.blockMaximum)} of the blocks use their largest code.`;
    this.#score.title = `How much of the differences in loudness between blocks lies in whole rows and columns: a wrong order of scales destroys it. Blocks are ${number(Number(now.left), 3)} nats from what their row and column say.${full}`;
  }

  /** Shows what the bytes alone say, where they say something. */
  verdict(judgement: Judgement | null, reading: Reading): void {
    const decided = judgement?.answers.filter(({ certainty }) => certainty === "decided") ?? [];
    if (!judgement || decided.length === 0) return this.#verdict.replaceChildren();
    const sure = surely(Math.min(...decided.map(({ confidence }) => confidence)));
    if (judgement.asStored) {
      const parts = decided.map(({ question }) => QUESTIONS[question]).join(", ");
      this.#verdict.replaceChildren(h("span", { class: "muted" }, `The bytes themselves agree with the file: ${parts} (${sure} sure).`));
      return;
    }
    const wanted = this.#readingOf(judgement);
    const read = wanted && JSON.stringify(wanted) !== JSON.stringify(reading) ? h("button", { type: "button", class: "button small", onclick: () => this.change(wanted) }, "Read them so") : null;
    this.#verdict.replaceChildren(h("strong", {}, `The bytes say: ${judgement.reading.text}`), ` (${sure} sure). `, ...(read ? [read] : []));
  }

  /** The reading of a verdict, as far as the controls can show it. */
  #readingOf({ reading }: Judgement): Reading | null {
    const stated = declared(this.details);
    const wanted: Reading = {};
    if (reading.scaleLayout !== stated.layout) {
      if (!this.layouts.includes(reading.scaleLayout)) return null;
      wanted.layout = reading.scaleLayout;
    }
    if (reading.nibbles !== stated.nibbles) wanted.nibbles = reading.nibbles;
    return isAsDeclared(wanted) ? null : wanted;
  }

  #focused(): string | null {
    const active = document.activeElement;
    if (!(active instanceof HTMLElement) || !this.root.contains(active)) return null;
    const group = active.closest("[role=radiogroup]")?.getAttribute("aria-label");
    return group ? `[aria-label="${group}"] [aria-checked="true"]` : active.matches("select") ? "select" : null;
  }
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}

/** A confidence, which is never certainty. */
function surely(confidence: number): string {
  return confidence > 0.999 ? "more than 99.9 %" : `${(100 * confidence).toFixed(1)} %`;
}
