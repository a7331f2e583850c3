// Requests in, answers out: any number at a time, each of which can be cancelled.

import type { FromWorker, Slot, Step, ToWorker } from "../protocol/calls.ts";
import { problemFrom } from "../protocol/problem.ts";
import type { Context, Handlers, Held, Library } from "./context.ts";

/** The least time between two messages about how far a request is. */
const STEP_MS = 50;

export interface Port {
  postMessage(message: FromWorker, transfer: Transferable[]): void;
}

export class Answering {
  readonly #controllers = new Map<number, AbortController>();

  constructor(
    private readonly port: Port,
    private readonly library: Promise<Library>,
    private readonly handlers: Handlers,
    private readonly checkpoint: (slot: Slot) => Held,
  ) {}

  async receive(message: ToWorker): Promise<void> {
    const { id } = message;
    if ("cancel" in message) {
      this.#controllers.get(id)?.abort();
      return;
    }
    const controller = new AbortController();
    this.#controllers.set(id, controller);
    try {
      const context = await this.#context(id, controller.signal);
      // The request of a kind belongs to the handler of that kind.
      const handler = this.handlers[message.kind] as (request: unknown, context: Context) => Promise<unknown>;
      const answer = await handler(message.request, context);
      controller.signal.throwIfAborted();
      this.port.postMessage({ id, answer }, buffersIn(answer));
    } catch (error) {
      this.port.postMessage({ id, problem: problemFrom(error) }, []);
    } finally {
      this.#controllers.delete(id);
    }
  }

  async #context(id: number, signal: AbortSignal): Promise<Context> {
    let said = Number.NEGATIVE_INFINITY;
    return {
      library: await this.library,
      checkpoint: this.checkpoint,
      signal,
      progress: (step: Step) => {
        const now = performance.now();
        if (now - said < STEP_MS && step.done !== step.total) return;
        said = now;
        this.port.postMessage({ id, step }, []);
      },
      breathe: async () => {
        await messagesAreIn();
        signal.throwIfAborted();
      },
    };
  }
}

/** Ends after the messages that are waiting now. */
function messagesAreIn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

const MOST_DEPTH = 4;

/** The buffers of typed arrays in an answer: handed over instead of copied. */
export function buffersIn(value: unknown, depth = 0, found = new Set<ArrayBuffer>()): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength) found.add(value.buffer);
  } else if (typeof value === "object" && value !== null && depth < MOST_DEPTH && !(value instanceof Blob)) {
    // Long lists hold plain values.
    const inner = Array.isArray(value) ? value.slice(0, 64) : Object.values(value);
    for (const part of inner) buffersIn(part, depth + 1, found);
  }
  return [...found];
}

