// A short table of names and values.

import { h } from "../../dom.ts";
import type { Line } from "../tensor/stats.ts";

/** Lines under a title; what is odd is marked in words and colour. */
export function linesTable(title: string, lines: readonly Line[]): HTMLElement {
  return h(
    "section",
    { class: "figure lines-figure", "aria-label": title },
    h("h2", {}, title),
    h(
      "table",
      { class: "table lines-table" },
      h("tbody", {}, ...lines.map(({ name, value, odd }) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: odd ? "remark" : null }, value)))),
    ),
  );
}
