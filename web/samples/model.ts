// The built-in samples: a small model in NVFP4, and the same with a fault in the scales of one weight.

import type { SampleName } from "../src/sources/ref.ts";
import { encode, inTiles, type Plane } from "./nvfp4.ts";
import { bf16, safetensors, type Tensor } from "./safetensors.ts";

/** E4M3 of 1. */
const ONE = 0x38;

/** The weight that has the fault. */
export const FAULTY = "model.layers.1.mlp.down_proj";
const SHAPES: Record<string, [rows: number, cols: number]> = {
  "model.layers.0.self_attn.o_proj": [256, 256],
  "model.layers.0.mlp.down_proj": [256, 512],
  [FAULTY]: [512, 768],
};

export function sampleFile(sample: SampleName): Uint8Array {
  return safetensors(samplePlanes(sample).flatMap(({ name, plane }) => tensorsOf(name, plane)).concat(norm()));
}

export function samplePlanes(sample: SampleName): { name: string; plane: Plane }[] {
  return cleanPlanes().map(({ name, plane }) => ({ name, plane: name === FAULTY ? withFault(plane, sample) : plane }));
}

let clean: { name: string; plane: Plane }[] | undefined;

/** Encoded once, as it takes a moment. */
function cleanPlanes(): { name: string; plane: Plane }[] {
  clean ??= Object.entries(SHAPES).map(([name, [rows, cols]], index) => ({ name, plane: encode(weights(rows, cols, index + 1), rows, cols) }));
  return clean;
}

function withFault(plane: Plane, sample: SampleName): Plane {
  switch (sample) {
    case "clean":
      return plane;
    case "wrong-order":
      return { ...plane, scales: inTiles(plane.scales, plane.rows, plane.cols / 16) };
    case "ones":
      return { ...plane, scales: plane.scales.map(() => ONE) };
  }
}

function tensorsOf(name: string, { rows, cols, codes, scales, global }: Plane): Tensor[] {
  return [
    { name: `${name}.weight`, dtype: "U8", shape: [rows, cols / 2], bytes: codes },
    { name: `${name}.weight_scale`, dtype: "F8_E4M3", shape: [rows, cols / 16], bytes: scales },
    { name: `${name}.weight_scale_2`, dtype: "F32", shape: [], bytes: new Uint8Array(Float32Array.of(global).buffer) },
  ];
}

function norm(): Tensor {
  const random = randoms(99);
  const values = Float32Array.from({ length: 256 }, () => 1 + 0.1 * normal(random));
  return { name: "model.norm.weight", dtype: "BF16", shape: [256], bytes: bf16(values) };
}

/** Numbers as trained weights have them: rows and channels of different size, a few channels far larger. */
function weights(rows: number, cols: number, seed: number): Float32Array {
  const random = randoms(seed);
  const rowSizes = smooth(Array.from({ length: rows }, () => normal(random)), 6).map((size) => Math.exp(0.9 * size));
  const colSizes = smooth(Array.from({ length: cols }, () => normal(random)), 24).map((size) => Math.exp(0.7 * size));
  for (let outlier = 0; outlier < 4; outlier += 1) {
    const col = Math.floor(random() * cols);
    colSizes[col] = (colSizes[col] ?? 1) * 6;
  }
  const values = new Float32Array(rows * cols);
  for (let at = 0; at < values.length; at += 1) {
    values[at] = 0.02 * (rowSizes[Math.floor(at / cols)] ?? 1) * (colSizes[at % cols] ?? 1) * normal(random);
  }
  return values;
}

/** Means of neighbours, brought back to their spread. */
function smooth(values: readonly number[], width: number): number[] {
  const means = values.map((_, at) => {
    const near = values.slice(Math.max(0, at - width), at + width + 1);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
  const spread = Math.sqrt(means.reduce((sum, value) => sum + value * value, 0) / means.length);
  return means.map((value) => value / spread);
}

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function randoms(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
