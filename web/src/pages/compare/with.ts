// What a weight is compared with, and how the address says it.

import { MAIN, OTHER } from "../../protocol/calls.ts";
import type { Subject } from "../../protocol/look.ts";
import type { PageContext } from "../page.ts";
import { isAsDeclared, type TensorContext } from "../tensor/subject.ts";

export interface Against {
  /** As the address has it. */
  key: string;
  text: string;
  subject: Subject;
}

/** Everything that the weight can be compared with at once; others are chosen by name. */
export function candidates(context: TensorContext): Against[] {
  const { page, subject, details } = context;
  const found: Against[] = [];
  if (!isAsDeclared(subject.reading)) {
    found.push({ key: "declared", text: "the same bytes, read as declared", subject: { ...subject, reading: {} } });
  }
  const there = page.other?.names.find(details.name);
  if (page.other && there !== undefined) {
    found.push({ key: "other", text: `${details.name} of ${page.other.name}`, subject: { checkpoint: OTHER, weight: there, matrix: subject.matrix, reading: {} } });
  }
  return found;
}

/** What the address says: one of the candidates, or `=name` for a weight of this checkpoint. */
export function against(context: TensorContext, stat: string | undefined): Against | null {
  const all = candidates(context);
  if (stat?.startsWith("=")) return named(context, stat.slice(1));
  return all.find(({ key }) => key === stat) ?? all[0] ?? null;
}

function named(context: TensorContext, name: string): Against | null {
  const weight = context.page.main.names.find(name);
  if (weight === undefined) return null;
  const { matrices } = context.page.main.table;
  const matrix = Math.min(context.subject.matrix, (matrices[weight] ?? 1) - 1);
  return { key: `=${name}`, text: name, subject: { checkpoint: MAIN, weight, matrix, reading: {} } };
}

/** Names of weights of the same shape, at most so many. */
export function sameShape(page: PageContext, weight: number, most: number): string[] {
  const { table, names } = page.main;
  const found: string[] = [];
  for (let i = 0; i < table.length && found.length < most; i++) {
    if (i !== weight && table.rows[i] === table.rows[weight] && table.cols[i] === table.cols[weight]) found.push(names.name(i));
  }
  return found;
}
