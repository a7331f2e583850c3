// Numbers of tensors in words; counts and bytes are in units.ts.

/** A number with up to `digits` significant digits, in the shortest of the usual forms. */
export function number(x: number, digits = 5): string {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return Object.is(x, -0) ? "−0" : "0";
  const size = Math.abs(x);
  if (size >= 1e-4 && size < 1e6) {
    return minus(String(Number(x.toPrecision(digits))));
  }
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  return `${minus(String(Number(mantissa)))}e${minus(String(Number(exponent)))}`;
}

/** A number in the little room beside an axis: `1.3e−4`. */
export function tight(x: number): string {
  return (Math.abs(x) < 0.01 || Math.abs(x) >= 1000) && x !== 0 && Number.isFinite(x) ? minus(x.toExponential(1).replace("+", "")) : number(x, 2);
}

/** A number in a cell of seven characters. */
export function brief(x: number): string {
  return Math.abs(x) < 0.01 || Math.abs(x) >= 10_000 ? tight(x) : number(x, 3);
}

/** All digits that tell an f32 from its neighbours. */
export function exact(x: number): string {
  if (!Number.isFinite(x) || x === 0) return number(x);
  for (let digits = 1; digits <= 9; digits++) {
    if (Math.fround(Number(x.toPrecision(digits))) === Math.fround(x)) return number(x, digits);
  }
  return number(x, 9);
}

/** A number as a power of two and what is left: `2^−5 × 1.75`. */
export function power(x: number): string {
  if (!Number.isFinite(x) || x === 0) return number(x);
  const exponent = Math.floor(Math.log2(Math.abs(x)));
  const rest = x / 2 ** exponent;
  const scale = `2${superscript(exponent)}`;
  return rest === 1 ? scale : `${scale} × ${number(rest, 6)}`;
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A whole number in raised digits. */
export function superscript(n: number): string {
  const digits = [...String(Math.abs(n))].map((digit) => RAISED[Number(digit)]);
  return (n < 0 ? "⁻" : "") + digits.join("");
}

/** A share of a whole: `0.021 %`; what is not nothing is never shown as 0. */
export function share(part: number, whole: number): string {
  if (whole === 0) return "0 %";
  const percent = (100 * part) / whole;
  if (percent === 0 || percent === 100) return `${percent} %`;
  if (percent < 0.001) return "< 0.001 %";
  if (percent > 99.999) return "> 99.999 %";
  return `${Number(percent.toPrecision(percent > 99 ? 5 : 3))} %`;
}

/** A byte as two hex digits. */
export function hex(byte: number, digits = 2): string {
  return byte.toString(16).toUpperCase().padStart(digits, "0");
}

/** The bits of a field, leading zeros included. */
export function bits(value: number, width: number): string {
  return width === 0 ? "" : value.toString(2).padStart(width, "0");
}

function minus(text: string): string {
  return text.replaceAll("-", "−");
}
