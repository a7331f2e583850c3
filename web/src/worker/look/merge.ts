// Statistics of parts put together.

import type { AnyNumber, BlockStats, ScaleStats, ValueStats } from "blockscale-wasm";

export function mergeScales(a: ScaleStats | null, b: ScaleStats): ScaleStats {
  if (!a) return b;
  const [min, max] = [Math.min(Number(a.min), Number(b.min)), Math.max(Number(a.max), Number(b.max))];
  return {
    ...a,
    count: a.count + b.count,
    counts: sums(a.counts, b.counts),
    zeros: a.zeros + b.zeros,
    negative: a.negative + b.negative,
    notFinite: a.notFinite + b.notFinite,
    ones: a.ones + b.ones,
    notPowerOfTwo: a.notPowerOfTwo + b.notPowerOfTwo,
    min: spelled(min),
    max: spelled(max),
    constant: a.notFinite + b.notFinite === 0 && min === max,
  };
}

export function mergeValues(a: ValueStats | null, b: ValueStats): ValueStats {
  if (!a) return b;
  const [m, n] = [finite(a), finite(b)];
  const whole = Math.max(1, m + n);
  const weighed = (of: (stats: ValueStats) => number) => ((m === 0 ? 0 : of(a) * m) + (n === 0 ? 0 : of(b) * n)) / whole;
  const mean = weighed((stats) => Number(stats.mean));
  const square = weighed((stats) => Number(stats.rms) ** 2);
  return {
    count: a.count + b.count,
    nan: a.nan + b.nan,
    infinite: a.infinite + b.infinite,
    zeros: a.zeros + b.zeros,
    mean: spelled(mean),
    rms: spelled(Math.sqrt(square)),
    std: spelled(Math.sqrt(Math.max(0, square - mean * mean))),
    maxAbs: spelled(Math.max(Number(a.maxAbs), Number(b.maxAbs))),
  };
}

export function mergeBlocks(a: BlockStats | null, b: BlockStats): BlockStats {
  if (!a) return b;
  return {
    ...a,
    codes: sums(a.codes, b.codes),
    count: a.count + b.count,
    zeros: a.zeros + b.zeros,
    saturated: a.saturated + b.saturated,
    blocks: a.blocks + b.blocks,
    zeroBlocks: a.zeroBlocks + b.zeroBlocks,
    silenced: a.silenced + b.silenced,
  };
}

/** The numbers at those shares of all finite ones; sorts in place. */
export function quantiles(numbers: Float32Array, shares: readonly number[]): number[] {
  numbers.sort();
  // Minus infinity sorts first; infinity and NaN last.
  let [start, end] = [0, numbers.length];
  while (start < end && numbers[start] === -Infinity) start += 1;
  while (end > start && !Number.isFinite(numbers[end - 1]!)) end -= 1;
  return shares.map((share) => (end === start ? NaN : numbers[start + Math.round(share * (end - start - 1))]!));
}

function finite(stats: ValueStats): number {
  return stats.count - stats.nan - stats.infinite;
}

function sums(a: readonly number[], b: readonly number[]): number[] {
  return a.map((count, i) => count + (b[i] ?? 0));
}

/** A number as JSON has it. */
function spelled(x: number): AnyNumber {
  return Number.isFinite(x) ? x : (String(x) as AnyNumber);
}
