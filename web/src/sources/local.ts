// Files that a person dropped or chose. Only the ranges that are needed are read.

import type { ChosenFile } from "../protocol/open.ts";
import { ProblemError } from "../protocol/problem.ts";
import type { ListedFile, Source } from "./source.ts";

export class LocalFiles implements Source {
  readonly reach = "local";
  readonly #files: Map<string, File>;

  constructor(
    readonly name: string,
    files: readonly ChosenFile[],
  ) {
    this.#files = new Map(files.map(({ name, file }) => [name, file]));
  }

  async list(): Promise<ListedFile[]> {
    return [...this.#files].map(([name, file]) => ({ name, bytes: file.size }));
  }

  async read(name: string, start: number, end: number): Promise<Uint8Array> {
    const file = this.#files.get(name);
    if (!file) {
      throw new ProblemError("not-found", `\`${name}\` is not among the files that were chosen`, "Choose the whole folder.");
    }
    let bytes: Uint8Array;
    try {
      bytes = new Uint8Array(await file.slice(start, end).arrayBuffer());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ProblemError(
        "changed",
        `\`${name}\` can't be read any more: ${reason}`,
        "The file was changed or removed since it was chosen. Choose it again.",
      );
    }
    if (bytes.length !== end - start) throw tooShort(name, start, end, bytes.length);
    return bytes;
  }
}

export function tooShort(name: string, start: number, end: number, found: number): ProblemError {
  return new ProblemError(
    "too-short",
    `\`${name}\` ended early: ${end - start} bytes from ${start} on were asked for, ${found} came`,
    "The file is shorter than its header says, or the connection was cut. Try again; if it stays so, fetch the file anew.",
  );
}
