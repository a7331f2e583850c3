// Colours as numbers.

export type Rgb = [number, number, number];

/** Red, green and blue of a colour in hex digits; black for others. */
export function rgb(colour: string): Rgb {
  const digits = /^#([0-9a-f]{6}|[0-9a-f]{3})/i.exec(colour)?.[1] ?? "000000";
  const wide = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
  const bits = Number.parseInt(wide, 16);
  return [bits >> 16, (bits >> 8) & 255, bits & 255];
}
