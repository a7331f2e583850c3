// A checkpoint that is open, as the page has it.

import type { OpenAnswer, Table } from "./protocol/open.ts";
import type { SourceRef } from "./sources/ref.ts";

export interface Opened extends OpenAnswer {
  source: SourceRef;
  names: Names;
}

export function openedFrom(answer: OpenAnswer, source: SourceRef): Opened {
  return { ...answer, source, names: new Names(answer.table) };
}

/** The names of weights, cut from one text only as they are needed. */
export class Names {
  readonly #text: string;
  #lower: string | undefined;
  /** Where each name starts; one more behind the last. */
  readonly #starts: Uint32Array;

  constructor(table: Pick<Table, "names" | "length">) {
    this.#text = table.names;
    this.#starts = new Uint32Array(table.length + 1);
    let at = 0;
    for (let weight = 0; weight < table.length; weight += 1) {
      this.#starts[weight] = at;
      const end = table.names.indexOf("\n", at);
      at = (end < 0 ? table.names.length : end) + 1;
    }
    this.#starts[table.length] = at;
  }

  get text(): string {
    return this.#text;
  }

  /** The same text without capitals, for searches that do not tell them apart. */
  get lowerCase(): string {
    // A letter whose small form has another length would shift all names behind it.
    if (this.#lower === undefined) {
      const lower = this.#text.toLowerCase();
      this.#lower = lower.length === this.#text.length ? lower : this.#text;
    }
    return this.#lower;
  }

  /** Where the name of a weight starts in the text. */
  start(weight: number): number {
    return this.#starts[weight] ?? this.#text.length + 1;
  }

  get length(): number {
    return this.#starts.length - 1;
  }

  /** The name of a weight; empty where there is no such weight. */
  name(weight: number): string {
    const [start, end] = [this.#starts[weight], this.#starts[weight + 1]];
    return start === undefined || end === undefined ? "" : this.#text.slice(start, end - 1);
  }

  /** The weight of a name. */
  find(name: string): number | undefined {
    if (name === "" || name.includes("\n")) return undefined;
    for (let at = this.#text.indexOf(name); at >= 0; at = this.#text.indexOf(name, at + 1)) {
      const whole = (at === 0 || this.#text[at - 1] === "\n") && /^(\n|$)/.test(this.#text.slice(at + name.length, at + name.length + 1));
      if (whole) return this.#at(at);
    }
    return undefined;
  }

  /** The weight whose name holds that place of the text. */
  #at(offset: number): number {
    let [low, high] = [0, this.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
