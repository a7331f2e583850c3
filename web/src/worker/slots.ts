// The checkpoints that are open: the one shown, and the one it is compared with.

import type { Opening } from "blockscale-wasm";
import { MAIN, OTHER, type Slot, type Traffic } from "../protocol/calls.ts";
import { ProblemError } from "../protocol/problem.ts";
import type { Held } from "./context.ts";
import { forget } from "./look/index.ts";
import type { Progress } from "./opening.ts";
import type { Reading } from "./reading.ts";
import { forgetSurvey } from "./survey.ts";

interface Kept {
  held: Held;
  reading: Reading;
  /** Where the headers of some shards were not read yet. */
  opening: Opening | undefined;
}

export class Slots {
  readonly #kept = new Map<Slot, Kept>();
  readonly #opening = new Map<Slot, Reading>();

  get(slot: Slot): Held {
    return this.kept(slot).held;
  }

  kept(slot: Slot): Kept {
    const kept = this.#kept.get(slot);
    if (kept) return kept;
    throw new ProblemError("other", slot === MAIN ? "no checkpoint is open" : "no checkpoint to compare with is open", "Open one first.");
  }

  /** Counts what is read while a checkpoint opens. */
  async whileOpening<T>(slot: Slot, reading: Reading, open: () => Promise<T>): Promise<T> {
    this.#opening.set(slot, reading);
    try {
      return await open();
    } finally {
      if (this.#opening.get(slot) === reading) this.#opening.delete(slot);
    }
  }

  put(slot: Slot, { handle, opening }: Progress, reading: Reading): Held {
    const before = this.#kept.get(slot);
    // The same checkpoint with more shards goes on with its opening.
    this.#close(slot, before?.opening === opening ? "keep opening" : "end opening");
    const { name, reach } = reading.source;
    const held: Held = {
      slot,
      handle,
      name,
      reach,
      read: (pieces, signal) => reading.read(pieces, signal),
      missing: (pieces) => reading.missing(pieces),
    };
    this.#kept.set(slot, { held, reading, opening });
    return held;
  }

  close(slot: Slot): void {
    this.#close(slot, "end opening");
  }

  traffic(): Traffic {
    const readings = (slot: Slot) => this.#opening.get(slot) ?? this.#kept.get(slot)?.reading;
    const both = [readings(MAIN), readings(OTHER)] as const;
    const pending = both.reduce((sum, reading) => sum + (reading?.pending ?? 0), 0);
    return { read: [both[0]?.bytesRead ?? 0, both[1]?.bytesRead ?? 0], pending };
  }

  #close(slot: Slot, then: "keep opening" | "end opening"): void {
    const kept = this.#kept.get(slot);
    if (!kept) return;
    this.#kept.delete(slot);
    forget(kept.held);
    forgetSurvey(kept.held);
    kept.held.handle.free();
    if (then === "end opening") kept.opening?.free();
  }
}
