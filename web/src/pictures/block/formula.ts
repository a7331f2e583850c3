// A code written out: what its bits say, as one would work it out on paper.

import type { Fields } from "blockscale-wasm";
import { number, superscript } from "../format.ts";
import type { NumberType } from "./types.ts";

export interface Written {
  /** `2¹ × (1 + 1/2)`; empty where the code is special. */
  formula: string;
  /** What the formula comes to: held to the library's value by the tests. */
  value: number;
}

/** The value of a code by its fields. `value` is the library's, which decides what is special. */
export function written(type: NumberType, fields: Fields, value: number): Written {
  if (!Number.isFinite(value)) return { formula: "", value };
  const sign = fields.sign === 1 ? "−" : "";
  const factor = fields.sign === 1 ? -1 : 1;
  const whole = 2 ** type.mantissaBits;
  if (type.mantissaBits === 0) {
    const exponent = fields.exponent - type.bias;
    return { formula: `2${superscript(exponent)}`, value: 2 ** exponent };
  }
  // An exponent of zero: no leading one, and the exponent of the smallest normal number.
  if (fields.exponent === 0) {
    const exponent = 1 - type.bias;
    const formula = fields.mantissa === 0 ? `${sign}0` : `${sign}2${superscript(exponent)} × ${fields.mantissa}/${whole}`;
    return { formula, value: factor * 2 ** exponent * (fields.mantissa / whole) };
  }
  const exponent = fields.exponent - type.bias;
  const rest = fields.mantissa === 0 ? "" : ` × (1 + ${fields.mantissa}/${whole})`;
  return { formula: `${sign}2${superscript(exponent)}${rest}`, value: factor * 2 ** exponent * (1 + fields.mantissa / whole) };
}

/** How the exponent was found: `, as 12 − 7 = 5`. */
export function exponentOf(type: NumberType, fields: Fields): string {
  const stored = fields.exponent;
  if (stored > 0 || type.mantissaBits === 0) return `, as ${stored} − ${type.bias} = ${number(stored - type.bias)}`;
  return fields.mantissa === 0 ? ", as all but the sign is zero" : ", as an exponent of 0 has no leading one";
}

/** A rounding in words: what was rounded and by how much, or that nothing was. */
export function rounding(from: number, to: number): string {
  if (Object.is(from, to) || from === to || (Number.isNaN(from) && Number.isNaN(to))) return "exact";
  if (!Number.isFinite(to) || to === 0) return `rounded from ${number(from, 9)}`;
  const off = (to - from) / from;
  return `rounded from ${number(from, 12)}, relative error ${number(off, 2)}`;
}
