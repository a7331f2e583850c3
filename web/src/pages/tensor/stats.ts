// Statistics of scales and numbers as lines, for reading and for taking away.

import type { ScaleFacts, ValueFacts } from "../../protocol/look.ts";
import { exact, number, power, share } from "../../pictures/format.ts";
import { whole } from "../../units.ts";

export interface Line {
  name: string;
  value: string;
  /** Why it deserves a second look. */
  odd?: boolean;
}

export function scaleLines(facts: ScaleFacts): Line[] {
  const { stats, quantiles } = facts;
  const seen = facts.rowsSeen < facts.rows ? ` (of ${whole(facts.rowsSeen)} of ${whole(facts.rows)} rows)` : "";
  return [
    { name: "scales", value: `${whole(stats.count)}${seen}` },
    { name: "smallest stored", value: exact(Number(stats.min)) },
    { name: "largest stored", value: exact(Number(stats.max)) },
    { name: "in the middle, both levels", value: `${number(quantiles[1], 5)} ≈ ${power(Number(quantiles[1].toPrecision(3)))}` },
    { name: "0.5 % to 99.5 %", value: `${number(quantiles[0], 4)} to ${number(quantiles[2], 4)}` },
    { name: "zero", value: counted(stats.zeros, stats.count) },
    { name: "exactly one", value: counted(stats.ones, stats.count), odd: stats.ones === stats.count },
    { name: "negative", value: counted(stats.negative, stats.count), odd: stats.negative > 0 },
    { name: "NaN or infinite", value: counted(stats.notFinite, stats.count), odd: stats.notFinite > 0 },
    { name: "no power of two", value: counted(stats.notPowerOfTwo, stats.count) },
    ...(stats.constant ? [{ name: "all alike", value: "yes", odd: stats.count > 1 }] : []),
  ];
}

export function valueLines(facts: ValueFacts): Line[] {
  const { values, blocks } = facts;
  const seen = facts.rowsSeen < facts.rows ? ` (of ${whole(facts.rowsSeen)} of ${whole(facts.rows)} rows)` : "";
  const lines: Line[] = [
    { name: "weights", value: `${whole(values.count)}${seen}` },
    { name: "root mean square", value: number(Number(values.rms), 6) },
    { name: "mean, standard deviation", value: `${number(Number(values.mean), 4)}, ${number(Number(values.std), 6)}` },
    { name: "largest magnitude", value: `${exact(Number(values.maxAbs))} = ${number(Number(values.maxAbs) / Number(values.rms), 3)} × rms` },
    { name: "magnitude in the middle", value: number(facts.quantiles[0], 4) },
    { name: "99.5 % below", value: number(facts.quantiles[1], 4) },
    { name: "zero", value: counted(values.zeros, values.count) },
    { name: "NaN", value: counted(values.nan, values.count), odd: values.nan > 0 },
    { name: "infinite", value: counted(values.infinite, values.count), odd: values.infinite > 0 },
  ];
  if (!blocks) return lines;
  return [
    ...lines,
    { name: "blocks", value: whole(blocks.blocks) },
    { name: "codes of the largest value", value: counted(blocks.saturated, blocks.count) },
    { name: "blocks of zeros", value: counted(blocks.zeroBlocks, blocks.blocks) },
    { name: "codes under a scale of zero", value: counted(blocks.silenced, blocks.blocks) + (blocks.silenced > 0 ? " of the blocks" : ""), odd: blocks.silenced > 0 },
  ];
}

function counted(n: number, of: number): string {
  return n === 0 ? "none" : n === of ? "all" : `${whole(n)}, ${share(n, of)}`;
}
