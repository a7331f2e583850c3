// Those who want to know of something.

export class Listeners<T> {
  #listeners = new Set<(value: T) => void>();

  /** Adds a listener; the result takes it away again. */
  add(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(value: T): void {
    for (const listener of [...this.#listeners]) listener(value);
  }
}
