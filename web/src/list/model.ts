// What the list shows, without a page: rows, the one that is current, and what keys do to them.

import type { FoundFault } from "blockscale-wasm";
import type { Opened } from "../opened.ts";
import { NO_WEIGHT } from "../worker/tree.ts";
import { findingsByWeight, SEVERITIES, type Severity, type WeightFindings } from "./findings.ts";
import { fitting, type Query } from "./query.ts";
import { around, nodeOf, Openness, sortedWeights, visibleNodes } from "./rows.ts";

export const ORDERS = ["name", "size", "findings", "outliers", "sqnr"] as const;
export type Order = (typeof ORDERS)[number];

/** Columns that are measured: entry `i` is weight `i`, NaN where it was not. */
export interface Measured {
  /** The largest magnitude, in root mean squares. */
  peak: Float64Array;
  sqnr: Float64Array;
}

export interface Row {
  label: string;
  depth: number;
  /** The weight of a leaf. */
  weight: number | undefined;
  /** Weights in a module. */
  weights: number;
  open: boolean | undefined;
  /** Its place among its siblings, from 1, and how many these are. */
  position: number;
  siblings: number;
  findings: number;
  severity: Severity | undefined;
}

export class ListModel {
  readonly #openness: Openness;
  #findings: WeightFindings;
  /** What is open while the list is narrowed: all but what was closed since. */
  #narrowed: Openness | undefined;
  #fits: Uint8Array | undefined;
  #order: Order = "name";
  /** Nodes where the order is by name, else weights. */
  #rows: Uint32Array = new Uint32Array();
  #measured: Measured | undefined;
  #current = 0;

  constructor(readonly opened: Opened) {
    this.#openness = new Openness(opened.tree);
    this.#findings = findingsByWeight(opened.findings, opened.names);
    this.#openWhatIsSmall();
    this.#refresh();
  }

  get length(): number {
    return this.#rows.length;
  }

  get order(): Order {
    return this.#order;
  }

  get current(): number {
    return this.#current;
  }

  set current(row: number) {
    this.#current = Math.max(0, Math.min(this.length - 1, row));
  }

  /** How many weights fit. */
  get fitting(): number {
    return this.#fits ? this.#fits.reduce((sum, fits) => sum + fits, 0) : this.opened.table.length;
  }

  /** The weights that fit. */
  weightsShown(): Uint32Array {
    const { length } = this.opened.table;
    const all = Array.from({ length }, (_, weight) => weight);
    return Uint32Array.from(this.#fits ? all.filter((weight) => this.#fits?.[weight]) : all);
  }

  /** Narrows and orders the list. */
  arrange(order: Order, query: Query): void {
    this.#order = order;
    this.#fits = fitting(query, this.opened.names, this.opened.table);
    this.#narrowed = undefined;
    if (this.#fits) {
      this.#narrowed = new Openness(this.opened.tree);
      this.#narrowed.all("open");
    }
    this.#refresh();
  }

  setMeasured(measured: Measured): void {
    this.#measured = measured;
    if (this.#order === "outliers" || this.#order === "sqnr") this.#refresh();
  }

  setFindings(findings: readonly FoundFault[]): void {
    this.#findings = findingsByWeight(findings, this.opened.names);
    if (this.#order === "findings") this.#refresh();
  }

  measured(weight: number): { peak: number | undefined; sqnr: number | undefined } {
    const of = (column: Float64Array | undefined) => {
      const value = column?.[weight];
      return value === undefined || Number.isNaN(value) ? undefined : value;
    };
    return { peak: of(this.#measured?.peak), sqnr: of(this.#measured?.sqnr) };
  }

  row(at: number): Row {
    const { tree, names } = this.opened;
    const id = this.#rows[at] ?? 0;
    if (this.#order !== "name") {
      return { label: names.name(id), depth: 0, weight: id, weights: 1, open: undefined, position: at + 1, siblings: this.length, ...this.#found(id) };
    }
    const weight = tree.weight[id] ?? NO_WEIGHT;
    const leaf = weight !== NO_WEIGHT;
    return {
      label: names.text.slice(tree.labelStart[id], tree.labelEnd[id]),
      depth: tree.depth[id] ?? 0,
      weight: leaf ? weight : undefined,
      weights: tree.weights[id] ?? 0,
      open: leaf ? undefined : this.#open.has(id),
      position: tree.position[id] ?? 1,
      siblings: tree.siblings[id] ?? 1,
      ...(leaf ? this.#found(weight) : { findings: 0, severity: undefined }),
    };
  }

  /** Opens or closes the module of a row; nothing happens to a weight. */
  toggle(at: number, to?: "open" | "closed"): void {
    const row = this.row(at);
    if (row.open === undefined) return;
    const next = to ?? (row.open ? "closed" : "open");
    this.#open.set(this.#rows[at] ?? 0, next);
    this.#refresh();
  }

  /** The row of the module around a row. */
  parent(at: number): number | undefined {
    if (this.#order !== "name") return undefined;
    const parent = around(this.opened.tree, this.#rows[at] ?? 0).at(-1);
    return parent === undefined ? undefined : this.#rows.indexOf(parent);
  }

  /** Makes a weight's row current, its modules opened; nothing where it does not fit. */
  show(weight: number): number | undefined {
    if (this.#order === "name") {
      const node = nodeOf(this.opened.tree, weight);
      if (node === undefined) return undefined;
      const closed = around(this.opened.tree, node).filter((module) => !this.#open.has(module));
      for (const module of closed) this.#open.set(module, "open");
      if (closed.length > 0) this.#refresh();
      return this.#at(this.#rows.indexOf(node));
    }
    return this.#at(this.#rows.indexOf(weight));
  }

  /** The next row, from the current one on, whose label begins so. */
  startingWith(text: string): number | undefined {
    const wanted = text.toLowerCase();
    // A longer word may still fit the current row; a single letter goes on to the next.
    const from = this.#current + (text.length > 1 ? 0 : 1);
    for (let step = 0; step < this.length; step += 1) {
      const at = (from + step) % this.length;
      if (this.row(at).label.toLowerCase().startsWith(wanted)) return at;
    }
    return undefined;
  }

  get #open(): Openness {
    return this.#narrowed ?? this.#openness;
  }

  #at(row: number): number | undefined {
    if (row < 0) return undefined;
    this.#current = row;
    return row;
  }

  #found(weight: number): Pick<Row, "findings" | "severity"> {
    return { findings: this.#findings.counts[weight] ?? 0, severity: SEVERITIES[this.#findings.worst[weight] ?? 0] };
  }

  #refresh(): void {
    const kept = this.#rows[this.#current];
    const { tree } = this.opened;
    this.#rows = this.#order === "name" ? visibleNodes(tree, this.#open, this.#fits) : sortedWeights(this.#column(this.#order), this.#fits);
    const at = kept === undefined ? -1 : this.#rows.indexOf(kept);
    this.current = at < 0 ? this.#current : at;
  }

  #column(order: Exclude<Order, "name">): ArrayLike<number> {
    const { table } = this.opened;
    switch (order) {
      case "size":
        return table.bytes;
      case "findings":
        return this.#findings.counts;
      case "outliers":
        return this.#measured?.peak ?? new Float64Array(table.length).fill(Number.NaN);
      case "sqnr":
        // The worst first: small ratios are what one looks for.
        return (this.#measured?.sqnr ?? new Float64Array(table.length).fill(Number.NaN)).map((ratio) => -ratio);
    }
  }

  /** A short list is shown whole. */
  #openWhatIsSmall(): void {
    if (this.opened.tree.length <= 40) this.#openness.all("open");
  }
}
