// Tabs and the panel under them.

import { h } from "../../dom.ts";

export interface Tab {
  id: string;
  text: string;
  /** A number beside it, such as that of findings. */
  badge?: string | undefined;
}

/** A list of tabs; only the panel of the chosen one is built, by whoever listens. */
export class Tabs {
  readonly root: HTMLElement;
  readonly panel = h("div", { role: "tabpanel", class: "panel-of-tab", tabindex: -1 });
  #buttons: HTMLButtonElement[];

  constructor(label: string, tabs: readonly Tab[], choose: (id: string) => void) {
    this.#buttons = tabs.map(({ id, text, badge }) =>
      h(
        "button",
        { type: "button", role: "tab", id: `tab-${id}`, "data-tab": id, "aria-controls": "tab-panel", onclick: () => choose(id) },
        text,
        h("span", { class: "badge-count" }, badge ? ` ${badge}` : ""),
      ),
    );
    this.panel.id = "tab-panel";
    this.root = h("div", { class: "tabs", role: "tablist", "aria-label": label, onkeydown: (event: KeyboardEvent) => this.#onKey(event, choose) }, ...this.#buttons);
  }

  set chosen(id: string) {
    for (const button of this.#buttons) {
      const chosen = button.dataset.tab === id;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
      if (chosen) this.panel.setAttribute("aria-labelledby", button.id);
    }
  }

  /** Changes the number beside a tab. */
  badge(id: string, text: string): void {
    const badge = this.#buttons.find((button) => button.dataset.tab === id)?.querySelector(".badge-count");
    if (badge) badge.textContent = text === "" ? "" : ` ${text}`;
  }

  #onKey(event: KeyboardEvent, choose: (id: string) => void): void {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const at = this.#buttons.indexOf(document.activeElement as HTMLButtonElement);
    const next = this.#buttons[(at + move + this.#buttons.length) % this.#buttons.length]!;
    next.focus();
    choose(next.dataset.tab!);
  }
}
