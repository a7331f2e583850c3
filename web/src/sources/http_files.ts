// The files of a checkpoint behind addresses: as many requests at a time as a server likes.

import { ProblemError } from "../protocol/problem.ts";
import { HttpFile, type HttpOptions } from "./http.ts";
import { Limit } from "./limit.ts";

/** Requests at a time: as many as a browser sends to one host anyway. */
const AT_A_TIME = 6;

export class HttpFiles {
  readonly #files = new Map<string, HttpFile>();
  readonly #limit = new Limit(AT_A_TIME);

  constructor(private readonly options: HttpOptions = {}) {}

  /** Requests that are under way. */
  get pending(): number {
    return this.#limit.running;
  }

  add(name: string, url: string): HttpFile {
    const file = new HttpFile(name, url, this.options);
    this.#files.set(name, file);
    return file;
  }

  read(name: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    const file = this.#file(name);
    return this.#limit.run(() => file.read(start, end, signal), signal);
  }

  all(name: string, signal: AbortSignal): Promise<Uint8Array> {
    const file = this.#file(name);
    return this.#limit.run(() => file.all(signal), signal);
  }

  /** The first bytes of a file of unknown size. */
  start(name: string, bytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const file = this.#file(name);
    return this.#limit.run(() => file.start(bytes, signal), signal);
  }

  #file(name: string): HttpFile {
    const file = this.#files.get(name);
    if (!file) throw new ProblemError("not-found", `\`${name}\` is not in the list of files`, "Open the checkpoint again.");
    return file;
  }
}
