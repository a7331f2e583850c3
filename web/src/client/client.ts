// The page's side of the worker: requests that can be cancelled and say how far they are.

import type { AnswerOf, FromWorker, Kind, Problem, RequestOf, Step, ToWorker, Traffic } from "../protocol/calls.ts";
import { Listeners } from "./listeners.ts";

/** A request that failed; `code` tells why. */
export class Failure extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
    this.name = "Failure";
  }
}

/** Whether a request ended because it was given up. */
export function wasCancelled(error: unknown): boolean {
  return error instanceof Failure && error.problem.code === "cancelled";
}

/** The error as something to show. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Failure) return error.problem;
  return { code: "other", message: error instanceof Error ? error.message : String(error) };
}

export interface CallOptions {
  signal?: AbortSignal;
  onStep?: (step: Step) => void;
}

/** A request that is being worked on. */
export interface Job {
  id: number;
  kind: Kind;
  step: Step | undefined;
  cancel(): void;
}

interface Pending extends Job {
  resolve(answer: unknown): void;
  reject(error: Failure): void;
  onStep: ((step: Step) => void) | undefined;
}

/** What carries messages: a port, or a worker. */
export interface Channel {
  postMessage(message: ToWorker): void;
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
}

export class Client {
  #pending = new Map<number, Pending>();
  #last = 0;
  #closed = false;
  /** Told of bytes that were read. */
  readonly traffic = new Listeners<Traffic>();
  /** Told when requests begin, move on or end. */
  readonly jobs = new Listeners<readonly Job[]>();

  constructor(private readonly channel: Channel) {
    channel.onmessage = (event) => this.#receive(event.data);
  }

  /** Gives up all that was asked; nothing is answered any more. */
  close(): void {
    this.#closed = true;
    this.channel.onmessage = null;
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of all) pending.reject(cancelled());
    this.#tell();
  }

  /** Asks the worker. Rejects with a [`Failure`], also when `signal` ends it. */
  call<K extends Kind>(kind: K, request: RequestOf<K>, options: CallOptions = {}): Promise<AnswerOf<K>> {
    const { signal, onStep } = options;
    return new Promise((resolve, reject) => {
      if (this.#closed || signal?.aborted) return reject(cancelled());
      const id = ++this.#last;
      const cancel = () => {
        if (!this.#pending.has(id)) return;
        this.channel.postMessage({ id, cancel: true });
        this.#end(id);
        reject(cancelled());
      };
      signal?.addEventListener("abort", cancel, { once: true });
      const settle = () => signal?.removeEventListener("abort", cancel);
      this.#pending.set(id, {
        id,
        kind,
        step: undefined,
        cancel,
        onStep,
        resolve: (answer) => (settle(), resolve(answer as AnswerOf<K>)),
        reject: (error) => (settle(), reject(error)),
      });
      this.channel.postMessage({ id, kind, request });
      this.#tell();
    });
  }

  #receive(message: FromWorker): void {
    if ("traffic" in message) return this.traffic.tell(message.traffic);
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    if ("step" in message) {
      pending.step = message.step;
      pending.onStep?.(message.step);
      return this.#tell();
    }
    this.#end(message.id);
    if ("answer" in message) pending.resolve(message.answer);
    else pending.reject(new Failure(message.problem));
  }

  #end(id: number): void {
    this.#pending.delete(id);
    this.#tell();
  }

  #tell(): void {
    this.jobs.tell([...this.#pending.values()]);
  }
}

function cancelled(): Failure {
  return new Failure({ code: "cancelled", message: "cancelled" });
}
