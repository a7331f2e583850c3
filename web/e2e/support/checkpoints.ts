// Checkpoints for tests: small ones whose every number is known, and large ones that are mostly holes.

import { closeSync, ftruncateSync, mkdtempSync, openSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { mkdirSync } from "node:fs";
import type { Content } from "./range_server.ts";

/** A tensor whose bytes are given, or zero. */
export interface Entry {
  name: string;
  dtype: "U8" | "F8_E4M3" | "F8_E8M0" | "BF16" | "F32";
  shape: number[];
  bytes?: Uint8Array | ((start: number, end: number) => Uint8Array);
}

const WIDTH = { U8: 1, F8_E4M3: 1, F8_E8M0: 1, BF16: 2, F32: 4 };

/** A file of safetensors of which nothing exists but what is asked for. */
export function sparseFile(entries: readonly Entry[]): Content & { header: Uint8Array } {
  let at = 0;
  const placed = entries.map((entry) => {
    const size = entry.shape.reduce((product, extent) => product * extent, WIDTH[entry.dtype]);
    const start = at;
    at += size;
    return { ...entry, start, end: at };
  });
  const json = Object.fromEntries(placed.map(({ name, dtype, shape, start, end }) => [name, { dtype, shape, data_offsets: [start, end] }]));
  const header = withLength(JSON.stringify(json));
  return {
    header,
    size: header.length + at,
    read(start, end) {
      const out = new Uint8Array(end - start);
      overlay(out, start, header, 0);
      for (const { bytes, start: from, end: to } of placed) {
        const [first, last] = [Math.max(start, header.length + from), Math.min(end, header.length + to)];
        if (!bytes || first >= last) continue;
        const offset = first - header.length - from;
        const part = typeof bytes === "function" ? bytes(offset, offset + last - first) : bytes.subarray(offset, offset + last - first);
        out.set(part, first - start);
      }
      return out;
    },
  };
}

function withLength(json: string): Uint8Array {
  const text = new TextEncoder().encode(json.padEnd(Math.ceil(json.length / 8) * 8));
  const header = new Uint8Array(8 + text.length);
  new DataView(header.buffer).setBigUint64(0, BigInt(text.length), true);
  header.set(text, 8);
  return header;
}

function overlay(out: Uint8Array, start: number, bytes: Uint8Array, at: number): void {
  const [first, last] = [Math.max(start, at), Math.min(start + out.length, at + bytes.length)];
  if (first < last) out.set(bytes.subarray(first - at, last - at), first - start);
}

/** The three tensors of an NVFP4 weight as ModelOpt writes them. */
export function nvfp4(name: string, rows: number, cols: number, parts: { codes?: Entry["bytes"]; scales?: Entry["bytes"]; global?: number } = {}): Entry[] {
  const { codes, scales, global = 1 } = parts;
  const filled = (value: number) => (start: number, end: number) => new Uint8Array(end - start).fill(value);
  return [
    { name: `${name}.weight`, dtype: "U8", shape: [rows, cols / 2], bytes: codes ?? filled(0x22) },
    { name: `${name}.weight_scale`, dtype: "F8_E4M3", shape: [rows, cols / 16], bytes: scales ?? filled(0x38) },
    { name: `${name}.weight_scale_2`, dtype: "F32", shape: [], bytes: new Uint8Array(Float32Array.of(global).buffer) },
  ];
}

/** A folder of this machine with those files; a sparse one takes no space but its parts. */
export function folderWith(files: Record<string, Uint8Array | string>): string {
  const folder = mkdtempSync(join(tmpdir(), "viewer-"));
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  return folder;
}

/** Writes a file with holes: only the parts that are given are there. */
export function writeSparse(path: string, content: Content, parts: readonly [start: number, end: number][]): void {
  const file = openSync(path, "w");
  ftruncateSync(file, content.size);
  for (const [start, end] of parts) writeSync(file, content.read(start, end), 0, end - start, start);
  closeSync(file);
}
