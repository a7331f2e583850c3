// Controls of which one of a few things is chosen.

import { h } from "../../dom.ts";

export interface Choice<T extends string> {
  value: T;
  text: string;
  /** More words, on hover. */
  title?: string;
  /** What the file declares is marked. */
  declared?: boolean;
}

/** A row of buttons, one of them chosen; arrow keys go along it. */
export class Segmented<T extends string> {
  readonly root: HTMLElement;
  #buttons: HTMLButtonElement[];

  constructor(
    label: string,
    private readonly choices: readonly Choice<T>[],
    chosen: T,
    choose: (value: T) => void,
  ) {
    this.#buttons = choices.map(({ value, text, title, declared }) =>
      h(
        "button",
        { type: "button", role: "radio", title, "data-value": value, onclick: () => this.#pick(value, choose) },
        text,
        declared ? h("span", { class: "declared", "aria-label": ", declared" }) : null,
      ),
    );
    this.root = h("div", { class: "segmented", role: "radiogroup", "aria-label": label, onkeydown: (event: KeyboardEvent) => this.#onKey(event, choose) }, ...this.#buttons);
    this.value = chosen;
  }

  set value(value: T) {
    this.choices.forEach((choice, i) => {
      const button = this.#buttons[i]!;
      button.setAttribute("aria-checked", String(choice.value === value));
      button.tabIndex = choice.value === value ? 0 : -1;
    });
    if (!this.choices.some((choice) => choice.value === value) && this.#buttons[0]) this.#buttons[0].tabIndex = 0;
  }

  #pick(value: T, choose: (value: T) => void): void {
    this.value = value;
    choose(value);
  }

  #onKey(event: KeyboardEvent, choose: (value: T) => void): void {
    const move = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const at = this.#buttons.indexOf(document.activeElement as HTMLButtonElement);
    const next = (at + move + this.choices.length) % this.choices.length;
    this.#buttons[next]!.focus();
    this.#pick(this.choices[next]!.value, choose);
  }
}

/** A list to choose from, for more than a row of buttons holds. */
export function select<T extends string>(label: string, choices: readonly Choice<T>[], chosen: T, choose: (value: T) => void): HTMLSelectElement {
  const list = h(
    "select",
    { "aria-label": label, onchange: () => choose(list.value as T) },
    ...choices.map(({ value, text, declared }) => h("option", { value, selected: value === chosen }, declared ? `${text} (declared)` : text)),
  );
  return list;
}

/** Logarithm or linear. */
export function spacing(chosen: "log" | "linear", choose: (value: "log" | "linear") => void): Segmented<"log" | "linear"> {
  return new Segmented("Spacing", [{ value: "log", text: "Log" }, { value: "linear", text: "Linear" }], chosen, choose);
}
