// Findings by weight: what a rule says of a tensor belongs to the weight that has it as a part.

import type { FoundFault } from "blockscale-wasm";
import type { Names } from "../opened.ts";

export type Severity = FoundFault["severity"];

export interface WeightFindings {
  /** How many there are of each weight. */
  counts: Uint32Array;
  /** The worst of each weight: 0 none, 1 info, 2 warning, 3 error. */
  worst: Uint8Array;
}

const RANK: Record<Severity, number> = { info: 1, warning: 2, error: 3 };
export const SEVERITIES: readonly (Severity | undefined)[] = [undefined, "info", "warning", "error"];

export function findingsByWeight(findings: readonly FoundFault[], names: Names): WeightFindings {
  const counts = new Uint32Array(names.length);
  const worst = new Uint8Array(names.length);
  for (const { tensor, severity } of findings) {
    const weight = tensor === null ? undefined : weightOf(tensor, names);
    if (weight === undefined) continue;
    counts[weight] = (counts[weight] ?? 0) + 1;
    worst[weight] = Math.max(worst[weight] ?? 0, RANK[severity]);
  }
  return { counts, worst };
}

/** Endings that dialects give to the parts of a weight, the longest first. */
const PARTS = /(_scale_inv|_scale_2|_global_scale|_scale|_packed|_blocks|_scales|_shape|_zero_point|_g_idx)$|\.(scale|scales|qweight|qzeros|g_idx)$/;

/** The weight that a tensor belongs to, by name. */
export function weightOf(tensor: string, names: Names): number | undefined {
  const found = names.find(tensor);
  if (found !== undefined || !PARTS.test(tensor)) return found;
  const stem = tensor.replace(PARTS, "");
  return names.find(stem) ?? names.find(`${stem}.weight`);
}
