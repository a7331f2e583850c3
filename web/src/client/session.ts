// A reader with what is open in it. Opening from a new address takes a new reader, since a policy
// can't be widened; what was open is then opened again in it, by a few small reads.

import { openedFrom, type Opened } from "../opened.ts";
import { MAIN, OTHER, type Slot, type Step } from "../protocol/calls.ts";
import type { ChosenFile } from "../protocol/open.ts";
import { addressesOf } from "../sources/addresses.ts";
import type { SourceRef } from "../sources/ref.ts";
import { Client } from "./client.ts";
import { type Reader, startReader } from "./reader.ts";

/** A source with what reading it takes beside its line. */
export interface Openable {
  source: SourceRef;
  files?: ChosenFile[];
  token?: string;
}

export interface OpenOptions {
  signal: AbortSignal;
  onStep(step: Step): void;
}

export class Session {
  readonly client: Client;
  readonly #openable = new Map<Slot, Openable>();
  readonly #opened = new Map<Slot, Opened>();

  private constructor(private readonly reader: Reader) {
    this.client = new Client(reader);
  }

  static async start(...sources: SourceRef[]): Promise<Session> {
    return new Session(await startReader([...new Set(sources.flatMap(addressesOf))]));
  }

  get main(): Opened | undefined {
    return this.#opened.get(MAIN);
  }

  get other(): Opened | undefined {
    return this.#opened.get(OTHER);
  }

  /** Whether it may read from there. */
  reaches(source: SourceRef): boolean {
    return this.reader.allows(addressesOf(source));
  }

  async open(slot: Slot, openable: Openable, { signal, onStep }: OpenOptions): Promise<Opened> {
    const answer = await this.client.call("open", { checkpoint: slot, ...openable }, { signal, onStep });
    const opened = openedFrom(answer, openable.source);
    this.#openable.set(slot, openable);
    this.#opened.set(slot, opened);
    return opened;
  }

  /** Reads the headers of some more shards of what is shown. */
  async readOn(shards: number, options: Partial<OpenOptions> = {}): Promise<Opened | undefined> {
    const main = this.#openable.get(MAIN);
    if (!main) return undefined;
    const opened = openedFrom(await this.client.call("readOn", { checkpoint: MAIN, shards }, options), main.source);
    this.#opened.set(MAIN, opened);
    return opened;
  }

  /** Opens what is to be compared; the result is this session, or the one that has taken its place. */
  async openOther(openable: Openable, options: OpenOptions): Promise<Session> {
    const main = this.#openable.get(MAIN);
    if (!main || this.reaches(openable.source)) {
      await this.open(OTHER, openable, options);
      return this;
    }
    const wider = await Session.start(main.source, openable.source);
    try {
      await wider.open(MAIN, main, options);
      await wider.open(OTHER, openable, options);
    } catch (error) {
      wider.end();
      throw error;
    }
    return wider;
  }

  async closeOther(): Promise<void> {
    this.#openable.delete(OTHER);
    this.#opened.delete(OTHER);
    await this.client.call("close", { checkpoint: OTHER });
  }

  end(): void {
    this.client.close();
    this.reader.end();
  }
}
