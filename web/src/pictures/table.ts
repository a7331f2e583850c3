// The table behind a picture: what it shows, in numbers.

import { h } from "../dom.ts";
import { exact } from "./format.ts";
import { whole } from "../units.ts";

export type Cell = string | number;

export interface Column {
  name: string;
  /** Numbers that count things are written whole; others with the digits that they have. */
  kind: "text" | "count" | "number";
}

export interface Table {
  caption: string;
  columns: Column[];
  rows: Cell[][];
}

/** More rows than this are only exported: a browser does not lay them out in time. */
const MOST_ROWS = 1024;

/** A table as an element, the first rows of it where there are very many. */
export function tableElement(table: Table): HTMLTableElement {
  const left = table.rows.length - MOST_ROWS;
  const caption = left > 0 ? `${table.caption} The first ${whole(MOST_ROWS)} of ${whole(table.rows.length)} rows; an export has all.` : table.caption;
  const kind = (i: number) => table.columns[i]?.kind ?? "text";
  const numeric = (i: number) => (kind(i) === "text" ? null : "num");
  return h(
    "table",
    { class: "data" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...table.columns.map(({ name }, i) => h("th", { scope: "col", class: numeric(i) }, name)))),
    h("tbody", {}, ...table.rows.slice(0, MOST_ROWS).map((row) => h("tr", {}, ...row.map((value, i) => h("td", { class: numeric(i) }, written(value, kind(i))))))),
  );
}

function written(value: Cell, kind: Column["kind"]): string {
  if (typeof value === "string") return value;
  return kind === "count" ? whole(value) : exact(value);
}
