// Tables as CSV and JSON: every number with all its digits.

import type { Cell, Table } from "../pictures/table.ts";

/** Comma-separated values after RFC 4180. */
export function csv(table: Table): string {
  const lines = [table.columns.map((column) => column.name), ...table.rows];
  return lines.map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

function field(cell: Cell): string {
  const text = typeof cell === "number" && Object.is(cell, -0) ? "-0" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The table with what it is about; numbers that JSON lacks are words. */
export function json(table: Table, about: Record<string, unknown>): string {
  const names = table.columns.map((column) => column.name);
  const rows = table.rows.map((row) => Object.fromEntries(row.map((cell, i) => [names[i] ?? String(i), cell])));
  const spelled = (_: string, value: unknown) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
  return `${JSON.stringify({ ...about, caption: table.caption, rows }, spelled, 1)}\n`;
}
