// No more than so many things at a time, in the order in which they were asked for.

export class Limit {
  #running = 0;
  #waiting: (() => void)[] = [];

  constructor(private readonly most: number) {}

  get running(): number {
    return this.#running;
  }

  /** Runs `task` once it is its turn; not at all where `signal` has ended by then. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#running < this.most) this.#running += 1;
    // Whoever ends hands its turn on, so that the count stays.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      signal.throwIfAborted();
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
