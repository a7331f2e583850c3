// What a link can't hold: files and tokens of sources, in memory until the page is closed.

import type { Problem } from "../protocol/calls.ts";
import { lineOf, sourceOf } from "../sources/ref.ts";
import type { Openable } from "./session.ts";

export class Kept {
  readonly #openable = new Map<string, Openable>();

  keep(openable: Openable): void {
    this.#openable.set(lineOf(openable.source), openable);
  }

  /** What a line stands for; files have to be there from before. */
  find(line: string): Openable | Problem {
    const kept = this.#openable.get(line);
    if (kept) return kept;
    const source = sourceOf(line);
    if (!source) return { code: "other", message: `the link names no source that is known: \`${line}\`` };
    if (source.kind !== "files") return { source };
    return {
      code: "other",
      message: `this link shows \`${source.name}\`, a file of the one who made it`,
      advice: "Drop that file or folder here: the link then shows the same picture.",
    };
  }
}
