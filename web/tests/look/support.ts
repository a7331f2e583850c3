// The module and a checkpoint in memory, as handlers of the worker are given them.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Slot } from "../../src/protocol/calls.ts";
import { MAIN } from "../../src/protocol/calls.ts";
import type { Context, Held, Library } from "../../src/worker/context.ts";

const folder = process.env.BLOCKSCALE_WASM ?? dirname(fileURLToPath(new URL("../../../target/web/pkg/index.js", import.meta.url)));

/** Whether `cargo xtask wasm` has written the package. */
export const built = existsSync(`${folder}/index.js`);

export async function library(): Promise<Library> {
  const { load } = (await import("blockscale-wasm")) as unknown as { load(source: (build: string) => Promise<Uint8Array>): Promise<Library> };
  return load((build) => readFile(`${folder}/${build}/blockscale_bg.wasm`));
}

/** Opens a file of safetensors that lies in memory. */
export function held(library: Library, file: Uint8Array, slot: Slot = MAIN): Held {
  const opening = new library.Opening(["model.safetensors"], [file.length]);
  for (let want = opening.wants()[0]; want; want = opening.wants()[0]) opening.give(want.file, want.start, file.slice(want.start, want.end));
  return {
    slot,
    handle: opening.finish(),
    name: "model",
    reach: "local",
    read: async (pieces) => pieces.map(({ start, end }) => file.slice(start, end)),
    missing: (pieces) => pieces.reduce((sum, { start, end }) => sum + end - start, 0),
  };
}

export function contextOf(library: Library, ...open: Held[]): Context {
  return {
    library,
    checkpoint: (slot) => open.find((held) => held.slot === slot)!,
    signal: new AbortController().signal,
    progress: () => undefined,
    breathe: async () => undefined,
  };
}

/** A file of one NVFP4 weight. */
export function nvfp4File(rows: number, cols: number, codes: (i: number) => number, scales: (i: number) => number, global: number): Uint8Array {
  const [codeBytes, scaleBytes] = [(rows * cols) / 2, (rows * cols) / 16];
  const json = JSON.stringify({
    "a.weight": { dtype: "U8", shape: [rows, cols / 2], data_offsets: [0, codeBytes] },
    "a.weight_scale": { dtype: "F8_E4M3", shape: [rows, cols / 16], data_offsets: [codeBytes, codeBytes + scaleBytes] },
    "a.weight_scale_2": { dtype: "F32", shape: [], data_offsets: [codeBytes + scaleBytes, codeBytes + scaleBytes + 4] },
  });
  const header = new TextEncoder().encode(json.padEnd(Math.ceil(json.length / 8) * 8));
  const file = new Uint8Array(8 + header.length + codeBytes + scaleBytes + 4);
  const view = new DataView(file.buffer);
  view.setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  const start = 8 + header.length;
  for (let i = 0; i < codeBytes; i++) file[start + i] = codes(i);
  for (let i = 0; i < scaleBytes; i++) file[start + codeBytes + i] = scales(i);
  view.setFloat32(start + codeBytes + scaleBytes, global, true);
  return file;
}
