// Tiles that were asked for, kept, and given up when they are not needed any more.

import { keyOf, type TileData, type TileId } from "./tiles.ts";

/** Gets a tile; rejects when `signal` ends it. */
export type Fetch = (id: TileId, signal: AbortSignal) => Promise<TileData>;

/** Tiles that are kept: 256 x 256 cells of 12 bytes each. */
const KEPT = 96;

export class TileSource {
  #kept = new Map<string, TileData>();
  #asked = new Map<string, AbortController>();

  constructor(
    private readonly fetch: Fetch,
    /** Called when a tile has come. */
    private readonly arrived: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** A tile, if it is there. */
  get(id: TileId): TileData | undefined {
    const key = keyOf(id);
    const tile = this.#kept.get(key);
    if (tile) {
      this.#kept.delete(key);
      this.#kept.set(key, tile);
    }
    return tile;
  }

  /** Asks for these tiles, in their order, and gives up what was asked for and is not among them. */
  want(ids: readonly TileId[]): void {
    const keys = new Set(ids.map(keyOf));
    for (const [key, controller] of this.#asked) {
      if (keys.has(key)) continue;
      this.#asked.delete(key);
      controller.abort();
    }
    for (const id of ids) this.#ask(id);
  }

  /** How many tiles are being waited for. */
  get waiting(): number {
    return this.#asked.size;
  }

  /** All tiles that are there, of any level. */
  get tiles(): ReadonlyMap<string, TileData> {
    return this.#kept;
  }

  /** Gives up what was asked for. */
  destroy(): void {
    this.want([]);
    this.#kept.clear();
  }

  #ask(id: TileId): void {
    const key = keyOf(id);
    if (this.#kept.has(key) || this.#asked.has(key)) return;
    const controller = new AbortController();
    this.#asked.set(key, controller);
    this.fetch(id, controller.signal).then(
      (tile) => {
        if (this.#asked.get(key) !== controller) return;
        this.#asked.delete(key);
        this.#kept.set(key, tile);
        for (const old of this.#kept.keys()) {
          if (this.#kept.size <= KEPT) break;
          this.#kept.delete(old);
        }
        this.arrived();
      },
      (error: unknown) => {
        if (this.#asked.get(key) !== controller) return;
        this.#asked.delete(key);
        this.failed(error);
      },
    );
  }
}
