// Numbers in words.

import { expect, test } from "vitest";
import { bits, exact, hex, number, power, share, superscript, tight } from "../../src/pictures/format.ts";

test("an exact number reads back as the same f32", () => {
  const view = new DataView(new ArrayBuffer(4));
  for (let i = 0; i < 20_000; i++) {
    view.setUint32(0, (i * 2654435761) >>> 0);
    const x = view.getFloat32(0);
    const text = exact(x).replaceAll("−", "-").replace("∞", "Infinity");
    const back = Math.fround(Number(text));
    expect(Object.is(back, x) || (Number.isNaN(back) && Number.isNaN(x))).toBe(true);
  }
});

test("negative zero, NaN and infinities are told apart", () => {
  expect([0, -0, NaN, Infinity, -Infinity].map((x) => number(x))).toEqual(["0", "−0", "NaN", "∞", "−∞"]);
});

test("numbers far from one have an exponent", () => {
  expect([number(1e-7), number(123456789), number(0.00012345678)]).toEqual(["1e−7", "1.2346e8", "0.00012346"]);
  expect([tight(0.00013), tight(-0.00013), tight(0.26)]).toEqual(["1.3e−4", "−1.3e−4", "0.26"]);
});

test("a power of two has nothing beside it", () => {
  expect([power(8), power(0.03125), power(7), power(-0.75), power(0)]).toEqual(["2³", "2⁻⁵", "2² × 1.75", "2⁻¹ × −1.5", "0"]);
  expect(superscript(-10)).toBe("⁻¹⁰");
});

test("a share that is not nothing is not shown as nothing", () => {
  expect([share(0, 5), share(5, 5), share(1, 1e9), share(999_999_999, 1e9), share(1, 3), share(0, 0)]).toEqual(["0 %", "100 %", "< 0.001 %", "> 99.999 %", "33.3 %", "0 %"]);
});

test("bits and bytes keep their zeros", () => {
  expect([bits(1, 4), bits(0, 0), hex(7), hex(255), hex(7, 1)]).toEqual(["0001", "", "07", "FF", "7"]);
});
