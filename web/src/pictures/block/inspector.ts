// One block in numbers: bytes, codes, scale, and every step of the arithmetic.

import type { BlockSteps, Fields, ScaleOfBlock } from "blockscale-wasm";
import { h } from "../../dom.ts";
import { bits, brief, exact, hex } from "../format.ts";
import { exponentOf, rounding, written } from "./formula.ts";
import { type NumberType, typeOf } from "./types.ts";
import "./block.css";

export interface Shown {
  steps: BlockSteps;
  /** Name of the elements' type, and its bits. */
  element: string;
  codeBits: number;
  /** Which column is worked out, from the first of the block. */
  chosen: number;
  choose(column: number): void;
}

/** Columns side by side. */
const ACROSS = 16;

/** The table of a block: bytes, the codes in them, and what they are worth. */
export function blockTables(shown: Shown): HTMLElement {
  const { elements } = shown.steps;
  const rows: HTMLElement[] = [];
  for (let start = 0; start < elements.length; start += ACROSS) rows.push(chunk(shown, start, Math.min(elements.length, start + ACROSS)));
  return h("div", { class: "block-tables", role: "group", "aria-label": "Bytes, codes and values" }, ...rows);
}

function chunk(shown: Shown, start: number, end: number): HTMLElement {
  const { steps, codeBits, chosen } = shown;
  const columns = steps.elements.slice(start, end);
  const cell = (i: number, ...content: (Node | string | null)[]) => h("td", { class: start + i === chosen ? "chosen" : null, "data-column": start + i }, ...content);
  const row = (name: string, kind: string, make: (element: BlockSteps["elements"][number], i: number) => HTMLElement) =>
    h("tr", { class: kind }, h("th", { scope: "row" }, name), ...columns.map(make));
  const head = h(
    "tr",
    { class: "columns" },
    h("th", { scope: "row" }, "column"),
    ...columns.map((_, i) =>
      h(
        "th",
        { scope: "col", class: start + i === chosen ? "chosen" : null },
        h("button", { type: "button", "aria-pressed": String(start + i === chosen), onclick: () => shown.choose(start + i) }, String(steps.firstCol + start + i)),
      ),
    ),
  );
  const table = h(
    "table",
    { class: "block-table" },
    h(
      "tbody",
      {},
      head,
      inPairs(shown) ? byteRow(steps.bytes.slice(start / 2, Math.ceil(end / 2)), columns.length) : null,
      row(inPairs(shown) ? "nibble" : "code", "codes", (element, i) => cell(i, hex(element.code, Math.ceil(codeBits / 4)))),
      columns[0]?.fields && codeBits <= 4 ? row("bits", "bit-row", (element, i) => cell(i, element.fields && coloured(element.fields))) : null,
      steps.kind === "plain" ? null : row("element", "elements", (element, i) => cell(i, exact(Number(element.element)))),
      row("value", "values", (element, i) => cell(i, brief(Number(element.value)))),
    ),
  );
  // All columns are equally wide, also in a last row of few.
  table.style.width = `${60 + 53 * columns.length}px`;
  return h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": `Columns ${steps.firstCol + start} to ${steps.firstCol + end - 1}` }, table);
}

/** Whether two columns side by side share a byte. */
function inPairs({ steps, codeBits }: Shown): boolean {
  return codeBits === 4 && steps.bytes.length === Math.ceil(steps.elements.length / 2);
}

/** Each byte, as it lies in the file, above its two nibbles. */
function byteRow(bytes: readonly number[], columns: number): HTMLElement {
  const cells = bytes.map((byte, i) => h("td", { colspan: Math.min(2, columns - 2 * i), class: "byte" }, hex(byte)));
  return h("tr", { class: "bytes" }, h("th", { scope: "row" }, "byte"), ...cells);
}

/** Bits by what they mean: sign, exponent, mantissa. */
export function coloured(fields: Fields): HTMLElement {
  const part = (name: string, text: string) => (text === "" ? null : h("span", { class: name }, text));
  return h(
    "span",
    { class: "bits" },
    part("sign", fields.sign === null ? "" : String(fields.sign)),
    part("exponent", bits(fields.exponent, fields.exponentBits)),
    part("mantissa", bits(fields.mantissa, fields.mantissaBits)),
  );
}

type ElementSteps = BlockSteps["elements"][number];

/** The arithmetic of one element, step by step, each rounding shown. */
export function arithmetic(shown: Shown): HTMLElement {
  const { steps, chosen } = shown;
  const element = steps.elements[chosen];
  if (!element) return h("p", {}, "There is no such column.");
  const items = [
    elementStep(shown, element),
    ...(steps.scale ? scaleSteps(steps.scale) : []),
    ...(steps.kind === "plain" ? [] : [productStep(steps, element)]),
    step("As kernels take it", ["rounded to the nearest BF16, ties to even"], null, exact(Number(element.bf16)), `BF16, ${rounding(Number(element.value), Number(element.bf16))}`),
  ];
  return h("ol", { class: "steps", "aria-label": "Arithmetic" }, ...items);
}

function elementStep({ steps, element: name, codeBits, chosen }: Shown, element: ElementSteps): HTMLElement {
  const title = `The element: column ${steps.firstCol + chosen}`;
  const code = `code ${hex(element.code, Math.ceil(codeBits / 4))}`;
  if (steps.kind === "plain") return step(title, [`the number itself, bits ${hex(element.code, Math.ceil(codeBits / 4))}`], null, exact(Number(element.value)), "exact");
  if (!element.fields) {
    const formula = element.zero === null ? null : `${element.code} − ${element.zero}, the zero point`;
    return step(title, [code], formula, exact(Number(element.element)), "exact");
  }
  return step(title, [`${code}, bits `, coloured(element.fields)], worked(typeOf(name), element.fields, Number(element.element)), exact(Number(element.element)), "exact");
}

function scaleSteps(scale: ScaleOfBlock): HTMLElement[] {
  const short = scale.bytes.length <= 2;
  const stored = scale.bytes.length === 1 ? `byte ${hex(scale.bytes[0]!)}` : `bytes ${scale.bytes.map((byte) => hex(byte)).join(" ")}, the lowest first`;
  const fields = short ? scale.fields : null;
  const steps = [
    step(
      "The scale of the block",
      fields ? [`${stored}, bits `, coloured(fields)] : [stored],
      fields && worked(typeOf(scale.element), fields, Number(scale.block)),
      exact(Number(scale.block)),
      "exact",
    ),
  ];
  if (scale.global === null || scale.direction === "none") return steps;
  const divides = scale.direction === "divisor";
  return [
    ...steps,
    step(
      divides ? "Divided by the global scale" : "Times the global scale",
      ["one F32 for the whole tensor: ", exact(Number(scale.global))],
      `${exact(Number(scale.block))} ${divides ? "÷" : "×"} ${exact(Number(scale.global))}`,
      exact(Number(scale.scale)),
      `F32, ${rounding(Number(scale.unrounded), Number(scale.scale))}`,
    ),
  ];
}

function productStep(steps: BlockSteps, element: ElementSteps): HTMLElement {
  const bias = element.bias === null ? "" : ` + ${exact(Number(element.bias))}`;
  const how = steps.kind === "ggml" ? "as ggml computes it, in F32" : `F32, ${rounding(Number(element.unrounded), Number(element.value))}`;
  return step("Element times scale", ["the weight as F32"], `${exact(Number(element.element))} × ${exact(Number(element.factor))}${bias}`, exact(Number(element.value)), how);
}

function worked(type: NumberType | undefined, fields: Fields, value: number): string | null {
  if (!type) return null;
  if (!Number.isFinite(value)) return "a code with a meaning of its own";
  return `${written(type, fields, value).formula}${exponentOf(type, fields)}`;
}

function step(title: string, from: (Node | string | null)[], formula: string | null, result: string, how: string): HTMLElement {
  return h(
    "li",
    {},
    h("span", { class: "step-title" }, title),
    h("span", { class: "step-from" }, ...from),
    formula === null ? null : h("span", { class: "step-formula" }, formula),
    h("span", { class: "step-result" }, h("span", { "aria-hidden": "true" }, "= "), h("strong", {}, result), h("span", { class: "how" }, how)),
  );
}
