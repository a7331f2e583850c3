// NVFP4 as ModelOpt writes it, for samples: 16 elements of E2M1 under an E4M3 scale, one F32 multiplier for all.

const MAGNITUDES = [0, 0.5, 1, 1.5, 2, 3, 4, 6] as const;
const MOST_ELEMENT = 6;
const MOST_SCALE = 448;
const BLOCK = 16;

export interface Plane {
  rows: number;
  cols: number;
  /** Two codes a byte, the even column in the low half. */
  codes: Uint8Array;
  /** One E4M3 byte for 16 columns, row by row. */
  scales: Uint8Array;
  global: number;
}

/** Rounds each number to the nearest that the format has, ties to the even code. */
export function encode(values: Float32Array, rows: number, cols: number): Plane {
  const global = Math.fround(largest(values) / (MOST_ELEMENT * MOST_SCALE));
  const codes = new Uint8Array((rows * cols) / 2);
  const scales = new Uint8Array((rows * cols) / BLOCK);
  for (let block = 0; block < scales.length; block += 1) {
    const numbers = values.subarray(block * BLOCK, (block + 1) * BLOCK);
    const scale = nearestScale(largest(numbers) / MOST_ELEMENT / global);
    scales[block] = scale;
    const unit = scaleValue(scale) * global;
    for (let pair = 0; pair < BLOCK / 2; pair += 1) {
      const [low, high] = [numbers[2 * pair] ?? 0, numbers[2 * pair + 1] ?? 0];
      codes[(block * BLOCK) / 2 + pair] = nearestCode(low / unit) | (nearestCode(high / unit) << 4);
    }
  }
  return { rows, cols, codes, scales, global };
}

/** The value of a finite, positive E4M3 code. */
export function scaleValue(code: number): number {
  const [exponent, mantissa] = [code >> 3, code & 7];
  return exponent === 0 ? mantissa * 2 ** -9 : (8 + mantissa) * 2 ** (exponent - 10);
}

function nearestScale(value: number): number {
  // 0x7e is the largest: 0x7f is NaN. A scale of zero would silence the block.
  return Math.max(1, nearest(value, 0x7e, scaleValue));
}

function nearestCode(value: number): number {
  const sign = value < 0 ? 8 : 0;
  return sign | nearest(Math.abs(value), 7, (code) => MAGNITUDES[code] ?? 0);
}

/** The code from 0 to `last`, whose values rise, that is nearest; ties go to the even one. */
function nearest(value: number, last: number, of: (code: number) => number): number {
  let [low, high] = [0, last];
  while (low < high) {
    const middle = (low + high) >> 1;
    const edge = (of(middle) + of(middle + 1)) / 2;
    if (value > edge || (value === edge && middle % 2 === 1)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function largest(values: Float32Array): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** Scales in tiles of 128 rows and 4 columns, as tensor cores read them: rows 32 apart lie side by side. */
export function inTiles(scales: Uint8Array, rows: number, cols: number): Uint8Array {
  const out = new Uint8Array(scales.length);
  for (let row = 0; row < rows; row += 1) {
    for (let col = 0; col < cols; col += 1) {
      const tile = (row >> 7) * (cols >> 2) + (col >> 2);
      out[tile * 512 + (row & 31) * 16 + ((row >> 5) & 3) * 4 + (col & 3)] = scales[row * cols + col] ?? 0;
    }
  }
  return out;
}
