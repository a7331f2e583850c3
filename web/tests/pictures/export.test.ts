// @vitest-environment happy-dom
// What a person takes away.

import { expect, test } from "vitest";
import { fileName } from "../../src/export/save.ts";
import { csv, json } from "../../src/export/text.ts";
import type { Table } from "../../src/pictures/table.ts";

const table: Table = {
  caption: "Numbers, all of them.",
  columns: [
    { name: 'a "name", with a comma', kind: "text" },
    { name: "value", kind: "number" },
  ],
  rows: [
    ["one\nline", Math.fround(0.1)],
    ["-0", -0],
    ["NaN", NaN],
    ["∞", Infinity],
  ],
};

test("CSV quotes what has to be quoted and keeps every digit", () => {
  const lines = csv(table).split("\r\n");
  expect(lines[0]).toBe('"a ""name"", with a comma",value');
  expect(lines[1]).toBe('"one\nline",0.10000000149011612');
  expect(lines.slice(2)).toEqual(["-0,-0", "NaN,NaN", "∞,Infinity", ""]);
});

test("JSON says what it is about and spells what it has no numbers for", () => {
  const read = JSON.parse(json(table, { tensor: "a.weight", scale: NaN })) as { tensor: string; scale: string; rows: Record<string, unknown>[] };
  expect([read.tensor, read.scale]).toEqual(["a.weight", "NaN"]);
  expect(read.rows.map((row) => row.value)).toEqual([0.10000000149011612, 0, "NaN", "Infinity"]);
});

test("file names hold what every file system takes", () => {
  expect(fileName(["model.layers.3/wo:a", "scales"], "png")).toBe("model.layers.3-wo-a-scales.png");
  expect(fileName(["", "..//"], "csv")).toBe("...csv");
  expect(fileName(["<>"], "csv")).toBe("picture.csv");
  expect(fileName(["x".repeat(500)], "csv").length).toBeLessThan(130);
});
