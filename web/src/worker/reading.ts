// Ranges of a source through memory: what is here is not fetched again, what two want is fetched once.

import type { Source } from "../sources/source.ts";
import { ByteCache, type Span } from "./cache.ts";

/** Large ranges are cut, so that they are fetched side by side and giving up is quick. */
const MOST_AT_ONCE = 4 << 20;
const MOST_HELD = 96 << 20;

export interface Wanted extends Span {
  file: string;
}

interface Fetch {
  bytes: Promise<Uint8Array>;
  waiting: number;
  controller: AbortController;
}

export class Reading {
  readonly #cache = new ByteCache(MOST_HELD);
  readonly #fetches = new Map<string, Fetch>();
  #read = 0;

  constructor(
    readonly source: Source,
    private readonly told: () => void,
  ) {}

  /** Bytes that came from the source. */
  get bytesRead(): number {
    return this.#read;
  }

  get pending(): number {
    return this.#fetches.size;
  }

  missing(wanted: readonly Wanted[]): number {
    const gaps = wanted.flatMap((want) => this.#cache.gaps(want.file, want));
    return gaps.reduce((sum, gap) => sum + gap.end - gap.start, 0);
  }

  /** The bytes of all ranges, in their order. The first failure gives up the rest. */
  async read(wanted: readonly Wanted[], signal: AbortSignal): Promise<Uint8Array[]> {
    signal.throwIfAborted();
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    try {
      return await Promise.all(wanted.map((want) => this.#one(want, either)));
    } catch (error) {
      failed.abort();
      throw signal.aborted ? signal.reason : error;
    }
  }

  async #one(want: Wanted, signal: AbortSignal): Promise<Uint8Array> {
    const all = new Uint8Array(want.end - want.start);
    const gaps = this.#cache.gaps(want.file, want);
    this.#cache.copy(want.file, want, all);
    await Promise.all(
      gaps.flatMap(cut).map(async (part) => {
        const bytes = await this.#shared({ file: want.file, ...part }, signal);
        all.set(bytes, part.start - want.start);
      }),
    );
    return all;
  }

  /** One fetch of a range for all who want it; it ends when none of them does any more. */
  async #shared(want: Wanted, signal: AbortSignal): Promise<Uint8Array> {
    const key = `${want.start}-${want.end}:${want.file}`;
    const fetch = this.#fetches.get(key) ?? this.#begin(key, want);
    fetch.waiting += 1;
    let stop: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
    });
    try {
      signal.throwIfAborted();
      return await Promise.race([fetch.bytes, aborted]);
    } finally {
      if (stop) signal.removeEventListener("abort", stop);
      aborted.catch(() => undefined);
      fetch.waiting -= 1;
      if (fetch.waiting === 0) this.#end(key, fetch);
    }
  }

  #begin(key: string, { file, start, end: stop }: Wanted): Fetch {
    const controller = new AbortController();
    const bytes = this.source.read(file, start, stop, controller.signal).then((bytes) => {
      this.#read += bytes.length;
      this.#cache.put(file, start, bytes);
      return bytes;
    });
    const fetch = { bytes, waiting: 0, controller };
    this.#fetches.set(key, fetch);
    this.told();
    const end = () => this.#end(key, fetch);
    bytes.then(end, end);
    return fetch;
  }

  #end(key: string, fetch: Fetch): void {
    fetch.controller.abort();
    // Another may have begun under this key since.
    if (this.#fetches.get(key) === fetch) this.#fetches.delete(key);
    this.told();
  }
}

function cut({ start, end }: Span): Span[] {
  const count = Math.ceil((end - start) / MOST_AT_ONCE);
  return Array.from({ length: count }, (_, part) => ({
    start: start + part * MOST_AT_ONCE,
    end: Math.min(end, start + (part + 1) * MOST_AT_ONCE),
  }));
}
