// The built-in samples: one small checkpoint, and two that differ from it by a fault in one weight's scales.

import { ProblemError } from "../protocol/problem.ts";
import { HttpFile } from "./http.ts";
import { SAMPLE_TITLES, type SampleName } from "./ref.ts";
import type { ListedFile, Source } from "./source.ts";

export class Sample implements Source {
  readonly reach = "local";
  readonly name: string;
  readonly #file: HttpFile;

  constructor(sample: SampleName, page: string) {
    this.name = SAMPLE_TITLES[sample];
    this.#file = new HttpFile("model.safetensors", new URL(`samples/${sample}.safetensors`, page).href);
  }

  async list(signal: AbortSignal): Promise<ListedFile[]> {
    const bytes = await this.#file.all(signal);
    return [{ name: this.#file.name, bytes: bytes.length }];
  }

  async read(file: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    if (file !== this.#file.name) throw new ProblemError("not-found", `a sample has no \`${file}\``);
    return this.#file.read(start, end, signal);
  }
}
