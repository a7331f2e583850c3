// Which numbers the colours span, and which lie so far beyond that they are outliers.

/** The numbers at both ends of the colours, and those beyond which a number is an outlier. */
export interface Range {
  low: number;
  high: number;
  outlierLow: number;
  outlierHigh: number;
}

/**
 * The range of a plane of which 0.5 % of the numbers lie below `low` and 0.5 % above `high`; of magnitudes where the
 * numbers are signed.
 *
 * An outlier lies beyond by as much again as the range is wide, and by a factor of two at least: of any plane 0.5 % lie
 * above the range, and colouring these would be noise.
 */
export function rangeOf(low: number, high: number, signed: boolean): Range {
  if (!(high > 0) || !Number.isFinite(high)) return { low: 0.5, high: 1, outlierLow: 0, outlierHigh: Infinity };
  // Eight octaves of colour for magnitudes: what lies below is as good as zero.
  if (signed) return { low: high / 256, high, outlierLow: 0, outlierHigh: 4 * high };
  const least = low > 0 ? Math.min(low, high) : high / 256;
  const margin = Math.max(2, high / least);
  return { low: least, high, outlierLow: least / margin, outlierHigh: high * margin };
}

/** Whether a number lies far beyond; zero does not. */
export function isOutlier(x: number, range: Range): boolean {
  const size = Math.abs(x);
  return size > range.outlierHigh || (size > 0 && size < range.outlierLow);
}
