// What can be shown of every weight by layer: some is known at once, some has to be measured.

import { findingsByWeight } from "../../list/findings.ts";
import type { Opened } from "../../opened.ts";
import { number, share, superscript } from "../../pictures/format.ts";
import type { Columns, Survey } from "../../survey.ts";
import { bytes, counted } from "../../units.ts";
import type { PageContext } from "../page.ts";

export interface Statistic {
  id: string;
  name: string;
  /** Of several experts the one is shown for which this is larger. */
  worse(value: number): number;
  write(value: number): string;
  of(weight: number): number;
  /** The survey that measures it. */
  needs?: Survey;
}

const larger = (value: number) => value;
const percent = (value: number) => share(value, 1);

/** All statistics; the signal-to-noise ratio only beside another checkpoint. */
export function statistics({ main, other, surveyor }: Pick<PageContext, "main" | "other" | "surveyor">): Statistic[] {
  const findings = findingsByWeight(main.findings, main.names);
  const measured = (id: keyof Columns, name: string, needs: Survey, worse: Statistic["worse"], write: Statistic["write"]): Statistic => ({
    id,
    name,
    needs,
    worse,
    write,
    of: (weight) => surveyor.columns[id][weight] ?? NaN,
  });
  return [
    { id: "bits", name: "bits a weight", worse: larger, write: (value) => `${number(value, 4)} bits`, of: (weight) => bitsOf(main, weight) },
    { id: "bytes", name: "bytes", worse: larger, write: (value) => bytes(value), of: (weight) => main.table.bytes[weight]! },
    { id: "findings", name: "findings", worse: larger, write: (value) => counted(value, "finding"), of: (weight) => findings.counts[weight] ?? 0 },
    measured("scaleMedianLog2", "scale in the middle", "weights", larger, (value) => `2${superscript(Math.round(value))}`),
    measured("peak", "largest weight by rms", "weights", larger, (value) => `${number(value, 3)} × rms`),
    measured("saturated", "largest codes", "weights", larger, percent),
    measured("scaleOnes", "scales of one", "weights", larger, percent),
    measured("zeros", "zeros", "weights", larger, percent),
    measured("notFinite", "NaN or infinite", "weights", larger, percent),
    measured("rms", "root mean square", "weights", larger, (value) => number(value, 3)),
    ...(other ? [measured("sqnr", "SQNR", "errors", (value) => -value, (value) => (value === Infinity ? "equal" : `${number(value, 3)} dB`))] : []),
  ];
}

/** Bits that a weight takes, scales and all. */
export function bitsOf({ table }: Pick<Opened, "table">, weight: number): number {
  const numbers = table.matrices[weight]! * table.rows[weight]! * table.cols[weight]!;
  return numbers === 0 ? NaN : (8 * table.bytes[weight]!) / numbers;
}
