import { expect, test } from "vitest";
import { bytes, counted, milliseconds, percent } from "../src/units.ts";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1 KiB"],
  [1536, "1.5 KiB"],
  [1023.9 * 1024, "1 MiB"],
  [611 * 2 ** 30, "611 GiB"],
  [1020 * 2 ** 20, "1020 MiB"],
  [2 ** 60, "1024 PiB"],
])("%d bytes are written as %s", (count, text) => {
  expect(bytes(count)).toBe(text);
});

test("counts agree in number", () => {
  expect(counted(1, "tensor")).toBe("1 tensor");
  expect(counted(142318, "tensor")).toBe("142,318 tensors");
  expect(counted(0, "match", "matches")).toBe("0 matches");
});

test("times and shares keep three digits", () => {
  expect(milliseconds(33.6)).toBe("34 ms");
  expect(milliseconds(1234)).toBe("1.23 s");
  expect(percent(0.5)).toBe("50 %");
  expect(percent(0.0001)).toBe("< 0.1 %");
  expect(percent(0)).toBe("0 %");
});
