// The handlers of requests about checkpoints as a whole.

import { hasVectors } from "blockscale-wasm";
import type { OpenCalls } from "../protocol/open.ts";
import { ProblemError } from "../protocol/problem.ts";
import { sourceFor } from "../sources/index.ts";
import { servedCheckpoints } from "../sources/served.ts";
import type { Handlers } from "./context.ts";
import { describe, openFrom, readOn } from "./opening.ts";
import { Reading } from "./reading.ts";
import type { Slots } from "./slots.ts";

export function openHandlers(slots: Slots, page: string, told: () => void): Handlers<OpenCalls> {
  return {
    async open(request, context) {
      const began = performance.now();
      const { checkpoint } = request;
      const reading = new Reading(sourceFor(request, page), told);
      const opened = await slots.whileOpening(checkpoint, reading, () => openFrom(reading, context));
      const { name, reach } = slots.put(checkpoint, opened, reading);
      told();
      return { checkpoint, name, reach, ...describe(opened.handle), ms: performance.now() - began };
    },

    async readOn({ checkpoint, shards }, context) {
      const began = performance.now();
      const kept = slots.kept(checkpoint);
      const { opening, reading } = kept;
      if (!opening) throw new ProblemError("other", "all headers were read");
      const progress = await readOn(opening, shards, reading, context);
      kept.opening = progress.opening;
      const { name, reach } = slots.put(checkpoint, progress, reading);
      return { checkpoint, name, reach, ...describe(slots.get(checkpoint).handle), ms: performance.now() - began };
    },

    async close({ checkpoint }) {
      slots.close(checkpoint);
      told();
      return null;
    },

    async weight({ checkpoint, weight }, context) {
      return context.checkpoint(checkpoint).handle.weight(weight);
    },

    async served(_, { signal }) {
      return servedCheckpoints(page, signal);
    },

    async engine(_, { library }) {
      return {
        version: library.version(),
        build: hasVectors() ? "simd128" : "baseline",
        layouts: library.layoutNames(),
      };
    },
  };
}
