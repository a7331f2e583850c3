// What the list is narrowed to: words or a pattern, and formats.

import type { Names } from "../opened.ts";
import type { Table } from "../protocol/open.ts";

export interface Query {
  /** Words that a name has to hold; with `*` or `?` a pattern that it has to fit. */
  text: string;
  /** Formats to show; none means all. */
  formats: readonly string[];
}

export const EVERYTHING: Query = { text: "", formats: [] };

/** One byte a weight, 1 where it fits; nothing where all do. */
export function fitting(query: Query, names: Names, table: Table): Uint8Array | undefined {
  const terms = query.text.trim().split(/\s+/).filter((term) => term !== "");
  if (terms.length === 0 && query.formats.length === 0) return undefined;
  const fits = new Uint8Array(table.length).fill(1);
  if (query.formats.length > 0) {
    const wanted = table.formats.map((format) => query.formats.includes(format));
    for (let weight = 0; weight < table.length; weight += 1) {
      if (!wanted[table.formatIds[weight] ?? -1]) fits[weight] = 0;
    }
  }
  for (const term of terms) keepTerm(fits, term, names);
  return fits;
}

/** Takes out the weights whose names do not hold a term. */
function keepTerm(fits: Uint8Array, term: string, names: Names): void {
  const found = new Uint8Array(fits.length);
  // The text of all names is searched as one: 100,000 names in a few milliseconds.
  if (/[*?]/.test(term)) markFitting(found, pattern(term), names);
  else markHolding(found, term.toLowerCase(), names);
  for (let weight = 0; weight < fits.length; weight += 1) {
    if (!found[weight]) fits[weight] = 0;
  }
}

function markHolding(found: Uint8Array, term: string, names: Names): void {
  const text = names.lowerCase;
  let weight = 0;
  for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, names.start(weight + 1))) {
    while (names.start(weight + 1) <= at) weight += 1;
    found[weight] = 1;
    if (weight + 1 >= found.length) return;
  }
}

function markFitting(found: Uint8Array, pattern: RegExp, names: Names): void {
  let weight = 0;
  for (const { index } of names.text.matchAll(pattern)) {
    while (weight + 1 < found.length && names.start(weight + 1) <= index) weight += 1;
    found[weight] = 1;
  }
}

/** A pattern of `*` and `?` as a regular expression over names in lines. */
function pattern(term: string): RegExp {
  const parts = term.split(/([*?])/).map((part) => {
    if (part === "*") return "[^\\n]*";
    if (part === "?") return "[^\\n]";
    return part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`, "gim");
}
