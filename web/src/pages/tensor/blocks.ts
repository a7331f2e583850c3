// The tab of blocks: one block in numbers, and how its format works.

import { h } from "../../dom.ts";
import { saveMenu } from "../../export/menu.ts";
import { aboutFormat } from "../../pictures/block/about.ts";
import { arithmetic, blockTables, type Shown } from "../../pictures/block/inspector.ts";
import { hex } from "../../pictures/format.ts";
import type { Table } from "../../pictures/table.ts";
import type { Inspected } from "../../protocol/look.ts";
import { whole } from "../../units.ts";
import { problem } from "../parts/problem.ts";
import { Newest } from "./asked.ts";
import type { Panel, Tools } from "./panel.ts";
import { about, fileWords, isAsDeclared, inWords, type TensorContext } from "./subject.ts";
import { readSpot } from "./view-code.ts";

export function blocksPanel(root: HTMLElement, context: TensorContext, tools: Tools): Panel {
  const { details, subject, page } = context;
  const plane = details.scalePlane;
  if (!plane) {
    root.replaceChildren(h("p", { class: "empty" }, `${details.name} is ${details.format}: plain numbers without blocks.`));
    return { destroy: () => undefined };
  }
  const blocks = { rows: details.rows, cols: plane.cols };
  const asked = new Newest();
  let { row, col } = readSpot(page.router.route.b, blocks) ?? { row: 0, col: 0 };
  let chosen = 0;
  let found: Inspected | null = null;

  const rowField = field("row", details.rows - 1, (value) => go(value, col));
  const blockField = field("block", plane.cols - 1, (value) => go(row, value));
  const where = h("p", { class: "muted", "aria-live": "polite" });
  const body = h("div", { class: "block-body" });
  const button = (text: string, label: string, act: () => void) => h("button", { type: "button", class: "button", "aria-label": label, title: label, onclick: act }, text);
  root.replaceChildren(
    h(
      "div",
      { class: "block-place" },
      rowField.root,
      blockField.root,
      h("div", { class: "row" }, button("◂", "Block before", () => go(row, col - 1)), button("▸", "Next block", () => go(row, col + 1)), button("▴", "Row above", () => go(row - 1, col)), button("▾", "Row below", () => go(row + 1, col))),
      saveMenu(
        () => (found ? { name: fileWords(context, `row-${row}-block-${col}`), about: { ...about(context), row, block: col, scale: found.steps.scale }, picture: () => null, table: () => blockTable(found!) } : null),
        tools.failed,
        ["csv", "json"],
      ),
    ),
    where,
    body,
  );
  read();

  function go(nextRow: number, nextCol: number): void {
    row = Math.min(Math.max(0, nextRow), blocks.rows - 1);
    col = Math.min(Math.max(0, nextCol), blocks.cols - 1);
    page.router.refine({ b: `${row}.${col}` });
    read();
  }

  function read(): void {
    rowField.set(row);
    blockField.set(col);
    void asked.run((signal) => page.client.call("block", { subject, row, block: col }, { signal }), show, (error) => {
      const shown = problem(error, read);
      tools.ready();
      if (shown) body.replaceChildren(shown);
    });
  }

  function show(answer: Inspected): void {
    tools.ready();
    found = answer;
    const { steps } = answer;
    const last = steps.firstCol + steps.elements.length - 1;
    chosen = Math.min(chosen, steps.elements.length - 1);
    where.replaceChildren(
      `Row ${whole(row)}, columns ${whole(steps.firstCol)} to ${whole(last)}`,
      plane!.blockRows > 1 ? `; the scale also covers ${whole(plane!.blockRows)} rows` : "",
      steps.scale?.bytesAt ? `. Scale at byte ${whole(steps.scale.bytesAt.start)} of ${steps.scale.bytesAt.file}` : "",
      steps.bytesAt ? `, codes from byte ${whole(steps.bytesAt.start)}` : "",
      isAsDeclared(subject.reading) ? "." : `, read not as declared: ${inWords(subject.reading)}.`,
    );
    draw();
  }

  function draw(): void {
    if (!found) return;
    const focused = document.activeElement?.closest(".block-table .columns") ? chosen : null;
    const shown: Shown = {
      steps: found.steps,
      element: found.element,
      codeBits: found.codeBits,
      chosen,
      choose: (column) => {
        chosen = column;
        draw();
      },
    };
    body.replaceChildren(blockTables(shown), h("h2", {}, "Step by step"), arithmetic(shown), aboutFormat(details, found.steps, found.values));
    if (focused !== null) body.querySelectorAll<HTMLElement>(".columns button")[chosen]?.focus();
  }

  return { destroy: () => asked.cancel() };
}

/** A field of a whole number from 0 to `most`. */
function field(name: string, most: number, use: (value: number) => void): { root: HTMLElement; set(value: number): void } {
  const input = h("input", {
    type: "number",
    min: 0,
    max: most,
    step: 1,
    id: `field-${name}`,
    onchange: () => use(Math.trunc(Number(input.value)) || 0),
  });
  return {
    root: h("div", { class: "row" }, h("label", { for: input.id }, name), input, h("span", { class: "muted" }, `of ${whole(most + 1)}`)),
    set: (value) => (input.value = String(value)),
  };
}

function blockTable({ steps, codeBits }: Inspected): Table {
  return {
    caption: `Codes and values of a block; its scale is ${String(steps.scale?.scale ?? "none")}.`,
    columns: [
      { name: "column", kind: "count" },
      { name: "code", kind: "text" },
      { name: "element", kind: "number" },
      { name: "value", kind: "number" },
      { name: "bf16", kind: "number" },
    ],
    rows: steps.elements.map((element, i) => [steps.firstCol + i, hex(element.code, codeBits > 4 ? 2 : 1), Number(element.element), Number(element.value), Number(element.bf16)]),
  };
}
