// From the module's statistics to the histogram of scales.

import type { ScaleStats } from "blockscale-wasm";
import type { ScaleBin, ScaleCounts } from "../../pictures/scales.ts";

/** Bins in rising order; what has no place on the axis is counted beside it. */
export function scaleCounts(stats: ScaleStats): ScaleCounts {
  const bins: ScaleBin[] = [];
  stats.values.forEach((value, code) => {
    const real = Number(value);
    if (real > 0 && Number.isFinite(real)) bins.push({ code, value: real, count: stats.counts[code] ?? 0 });
  });
  bins.sort((a, b) => a.value - b.value);
  const by = stats.countsBy;
  return {
    element: stats.element,
    by,
    bins,
    zeros: stats.zeros,
    nan: stats.notFinite,
    // A scale of several bytes is not cut off: its largest exponent is no sign of anything.
    saturated: by === "byte" ? (bins.at(-1)?.count ?? 0) : 0,
    ones: stats.ones,
    total: stats.count,
  };
}
