// A failure in words, with what to do next.

import { problemOf, wasCancelled } from "../../client/client.ts";
import { h } from "../../dom.ts";

/** What went wrong, or nothing where it was given up on purpose. */
export function problem(error: unknown, again?: () => void): HTMLElement | null {
  if (wasCancelled(error)) return null;
  const { message, advice } = problemOf(error);
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, message),
    advice ? h("p", {}, advice) : null,
    again ? h("div", { class: "actions" }, h("button", { type: "button", class: "button", onclick: again }, "Try again")) : null,
  );
}
