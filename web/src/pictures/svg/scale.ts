// Axes: from numbers to places, and the numbers worth a tick.

/** From a number to a place in CSS pixels. */
export type Place = (x: number) => number;

/** Even distances between `from` and `to`, on `start` to `end`. */
export function linear(from: number, to: number, start: number, end: number): Place {
  const size = to - from || 1;
  return (x) => start + ((x - from) / size) * (end - start);
}

/** Counts from 0 to `most` as heights; with `log`, a count of 1 still shows. */
export function heights(most: number, spacing: "linear" | "log", height: number): Place {
  const top = Math.max(most, 1);
  if (spacing === "linear") return (n) => (n / top) * height;
  const octaves = Math.log2(top) + 1;
  return (n) => (n < 1 ? 0 : ((Math.log2(n) + 1) / octaves) * height);
}

/** About `wanted` round numbers from `from` to `to`. */
export function ticks(from: number, to: number, wanted: number): number[] {
  const size = to - from;
  if (!(size > 0) || !Number.isFinite(size)) return [from];
  const rough = 10 ** Math.floor(Math.log10(size / wanted));
  const step = rough * ([1, 2, 5, 10].find((factor) => size / (rough * factor) <= wanted) ?? 10);
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

/** About `wanted` whole numbers, evenly apart: exponents. */
export function wholeTicks(from: number, to: number, wanted: number): number[] {
  const step = Math.max(1, Math.ceil((to - from) / Math.max(1, wanted)));
  const first = Math.ceil(from / step) * step;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, i) => first + i * step);
}
