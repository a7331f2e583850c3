// From a source to a checkpoint: the module says which bytes it wants, the source gives them.

import type { Checkpoint, Opening } from "blockscale-wasm";
import type { OpenAnswer, Table } from "../protocol/open.ts";
import type { Context } from "./context.ts";
import type { Reading } from "./reading.ts";
import { treeOf } from "./tree.ts";

/** A checkpoint, and its opening where the headers of some shards were not read yet. */
export interface Progress {
  handle: Checkpoint;
  opening: Opening | undefined;
}

/** Opens what a source lists. Of one that is far away and has many shards the first is enough. */
export async function openFrom(reading: Reading, context: Context): Promise<Progress> {
  const { library, signal, progress } = context;
  progress({ what: "listing files", done: 0, total: 0 });
  const files = await reading.source.list(signal);
  const names = files.map(({ name }) => name);
  const sizes = files.map(({ bytes }) => bytes);
  const opening = reading.source.reach === "remote" ? library.Opening.inParts(names, sizes) : new library.Opening(names, sizes);
  try {
    await giveAll(opening, reading, context);
  } catch (error) {
    opening.free();
    throw error;
  }
  // Finishing ends the opening, whether it works or not.
  return checkpointOf(opening);
}

/** Reads the headers of some more shards. */
export async function readOn(opening: Opening, most: number, reading: Reading, context: Context): Promise<Progress> {
  const unread = opening.shards().filter(({ progress }) => progress === "unread");
  if (unread.length <= most) opening.askAll();
  else for (const { name } of unread.slice(0, most)) opening.ask(name);
  await giveAll(opening, reading, context);
  return checkpointOf(opening);
}

function checkpointOf(opening: Opening): Progress {
  const whole = !opening.isInParts || opening.shards().every(({ progress }) => progress === "read");
  return whole ? { handle: opening.finish(), opening: undefined } : { handle: opening.soFar(), opening };
}

/** Each file goes on as soon as its bytes are there, without waiting for the others. */
async function giveAll(opening: Opening, reading: Reading, { signal, progress }: Context): Promise<void> {
  const asked = new Set<string>();
  let done = 0;
  const followNew = async (): Promise<void> => {
    const fresh = opening.wants().filter(({ file }) => !asked.has(file));
    for (const { file } of fresh) asked.add(file);
    await Promise.all(fresh.map(({ file }) => follow(file)));
  };
  const follow = async (file: string): Promise<void> => {
    for (;;) {
      const want = opening.wants().find((want) => want.file === file);
      if (!want) break;
      const [bytes] = await reading.read([want], signal);
      if (bytes) opening.give(want.file, want.start, bytes);
    }
    done += 1;
    progress({ what: "reading headers", done, total: asked.size });
    await followNew();
  };
  await followNew();
}

/** What the page keeps of a checkpoint that is open. */
export function describe(handle: Checkpoint): Pick<OpenAnswer, "summary" | "table" | "tree" | "findings"> {
  const table = tableOf(handle);
  return { summary: handle.summary(), table, tree: treeOf(table.names), findings: handle.findings() };
}

function tableOf(handle: Checkpoint): Table {
  const weights = handle.weights();
  try {
    return {
      length: weights.length,
      names: weights.names(),
      formats: weights.formats(),
      formatIds: weights.formatIds(),
      layouts: weights.layouts(),
      layoutIds: weights.layoutIds(),
      matrices: weights.matrices(),
      rows: weights.rows(),
      cols: weights.cols(),
      bytes: weights.bytes(),
    };
  } finally {
    weights.free();
  }
}
