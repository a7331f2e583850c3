// The line at the top: what is open, and the few things that are always at hand.

import { h } from "../dom.ts";
import type { Opened } from "../opened.ts";
import { bytes, counted, exactBytes } from "../units.ts";
import { type IconName, icon } from "./icons.ts";
import { applyTheme, currentTheme, nextTheme, type Theme } from "./theme.ts";

export interface HeaderEvents {
  start(): void;
  model(): void;
  toggleList(): void;
  filter(): void;
  compare(): void;
  help(): void;
}

const THEME_WORDS: Record<Theme, string> = { system: "as the system", light: "light", dark: "dark" };

export class Header {
  readonly element: HTMLElement;
  readonly #open: HTMLElement;
  readonly #list: HTMLButtonElement;
  readonly #filter: HTMLButtonElement;
  readonly #compare: HTMLButtonElement;
  readonly #theme: HTMLButtonElement;

  constructor(private readonly events: HeaderEvents) {
    this.#open = h("div", { class: "open" });
    this.#list = button("list", "Tensors", () => events.toggleList());
    this.#list.classList.add("list-toggle");
    this.#list.setAttribute("aria-expanded", "false");
    this.#filter = button("search", "Filter tensors (/)", () => events.filter());
    this.#compare = button("compare", "Compare with another checkpoint", () => events.compare());
    this.#theme = button("system", "", () => this.#nextTheme());
    this.element = h(
      "header",
      { class: "header" },
      this.#list,
      h("a", { class: "brand", href: "#", title: "Open another checkpoint", onclick: (event: MouseEvent) => (event.preventDefault(), events.start()) }, "blockscale"),
      this.#open,
      h("div", { class: "tools" }, this.#filter, this.#compare, this.#theme, button("help", "Keys (?)", () => events.help())),
    );
    this.#drawTheme(currentTheme());
    this.show(undefined, undefined);
  }

  show(main: Opened | undefined, other: Opened | undefined): void {
    for (const element of [this.#list, this.#filter, this.#compare]) element.hidden = !main;
    if (!main) return this.#open.replaceChildren();
    const { summary } = main;
    const facts = [summary.modelType, counted(summary.tensors, "tensor"), bytes(summary.tensorBytes)].filter((fact) => fact !== null);
    const name = h("a", { class: "name", href: "#", title: `${main.name}: whole checkpoint`, onclick: (event: MouseEvent) => (event.preventDefault(), this.events.model()) }, main.name);
    const about = h("span", { class: "facts", title: exactBytes(summary.tensorBytes) }, facts.join(" · "));
    this.#open.replaceChildren(name, about);
    if (other) this.#open.append(h("span", { class: "against" }, "against ", h("b", {}, other.name)));
  }

  setListOpen(open: "open" | "closed"): void {
    this.#list.setAttribute("aria-expanded", String(open === "open"));
  }

  #nextTheme(): void {
    const next = nextTheme(currentTheme());
    applyTheme(next);
    this.#drawTheme(next);
  }

  #drawTheme(theme: Theme): void {
    const words = `Colours: ${THEME_WORDS[theme]}`;
    this.#theme.replaceChildren(icon(theme));
    this.#theme.setAttribute("aria-label", words);
    this.#theme.title = words;
  }
}

function button(name: IconName, label: string, run: () => void): HTMLButtonElement {
  return h("button", { class: "tool", type: "button", "aria-label": label, title: label, onclick: run }, icon(name));
}
