// A problem on the page: what happened, what to do, and the buttons for it.

import { h } from "../dom.ts";
import type { Problem } from "../protocol/calls.ts";

export interface Action {
  label: string;
  run(): void;
}

export function problemBox(problem: Problem, actions: readonly Action[] = []): HTMLElement {
  const buttons = actions.map(({ label, run }) => h("button", { class: "button", type: "button", onclick: run }, label));
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, ...withCode(sentence(problem.message))),
    problem.advice && h("p", {}, ...withCode(problem.advice)),
    buttons.length > 0 && h("div", { class: "actions" }, ...buttons),
  );
}

/** Messages of libraries start small and have no full stop. */
function sentence(message: string): string {
  const first = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** Names between backticks as code. */
function withCode(text: string): (Node | string)[] {
  return text.split(/`([^`]*)`/).map((part, at) => (at % 2 === 1 ? h("code", {}, part) : part));
}
