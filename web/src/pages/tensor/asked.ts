// Requests of which only the newest matters.

import { wasCancelled } from "../../client/client.ts";

/** Runs one request at a time and gives up the one before. */
export class Newest {
  #controller: AbortController | null = null;

  /** `use` gets the answer unless a newer request was made meanwhile; `failed` gets errors that matter. */
  async run<T>(ask: (signal: AbortSignal) => Promise<T>, use: (answer: T) => void, failed: (error: unknown) => void): Promise<void> {
    this.#controller?.abort();
    const controller = new AbortController();
    this.#controller = controller;
    try {
      const answer = await ask(controller.signal);
      if (!controller.signal.aborted) use(answer);
    } catch (error) {
      if (!controller.signal.aborted && !wasCancelled(error)) failed(error);
    }
  }

  cancel(): void {
    this.#controller?.abort();
  }
}

/**
 * Runs requests one after the other: while one is under way only the last that was asked is kept. For a crosshair
 * that moves faster than it is answered.
 */
export class Latest<R, T> {
  #running = false;
  #next: R | null = null;

  constructor(
    private readonly ask: (request: R) => Promise<T>,
    private readonly use: (request: R, answer: T) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  want(request: R): void {
    this.#next = request;
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#next !== null) {
      const request = this.#next;
      this.#next = null;
      try {
        const answer = await this.ask(request);
        this.use(request, answer);
      } catch (error) {
        if (!wasCancelled(error)) this.failed(error);
      }
    }
    this.#running = false;
  }
}
