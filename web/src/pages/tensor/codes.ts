// The tab of codes: how often each occurs.

import type { BlockStats, WeightDetails } from "blockscale-wasm";
import { h } from "../../dom.ts";
import { codeBars, type CodeCounts, codeGrid } from "../../pictures/codes.ts";
import { lut } from "../../pictures/colour/maps.ts";
import { theme } from "../../pictures/colour/theme.ts";
import { Figure } from "../../pictures/figure.ts";
import { hex, number, share } from "../../pictures/format.ts";
import { expectedMagnitudes } from "../../pictures/gaussian.ts";
import type { Share, ValueFacts } from "../../protocol/look.ts";
import { linesTable } from "../parts/lines.ts";
import { problem } from "../parts/problem.ts";
import { Newest } from "./asked.ts";
import type { Panel, Tools } from "./panel.ts";
import { sampleNote } from "./scales.ts";
import type { Line } from "./stats.ts";
import { about, fileWords, type TensorContext } from "./subject.ts";

export function codesPanel(root: HTMLElement, context: TensorContext, tools: Tools): Panel {
  const { client } = context.page;
  const { subject } = context;
  const facts = new Newest();
  const failure = h("div", { class: "failure" });
  const figure = new Figure({ title: "Codes", name: () => fileWords(context, "codes"), about: () => about(context), failed: tools.failed });
  figure.say("Counting codes.");
  const lines = h("div");
  root.replaceChildren(failure, h("div", { class: "pair wide-first" }, figure.root, lines));
  const ask = (wanted: Share) => void facts.run((signal) => client.call("valueFacts", { subject, share: wanted }, { signal }), show, failed);
  ask("some");

  function show(answer: ValueFacts): void {
    tools.ready();
    const { blocks } = answer;
    if (!blocks) return figure.say(`${context.details.name} is ${context.details.format}: it has no codes under scales.`);
    const counts = codeCounts(blocks, context.details);
    figure.show((width) => (counts.counts.length === 256 ? codeGrid(counts, width, lut("viridis", theme())) : codeBars(counts, width)));
    const grid = counts.counts.length === 256 ? "Rows are the high half of the byte, columns the low half; the brighter, the more. Edged codes are no numbers. " : "";
    const line = counts.expected ? "Dashed line: what gaussian weights give when each block is scaled by its largest. " : grid;
    figure.note = [line, ...sampleNote(answer.rowsSeen, answer.rows, context, () => ask("all"))];
    lines.replaceChildren(linesTable("What stands out", codeLines(counts)));
  }

  function failed(error: unknown): void {
    const shown = problem(error, () => (failure.replaceChildren(), ask("some")));
    tools.ready();
    if (shown) failure.replaceChildren(shown);
  }

  return {
    destroy() {
      facts.cancel();
      figure.destroy();
    },
  };
}

function codeCounts(blocks: BlockStats, details: Pick<WeightDetails, "scalePlane">): CodeCounts {
  const values = blocks.values.map(Number);
  return { element: blocks.element, counts: blocks.codes, values, expected: values.length <= 64 ? expected(values, details) : null };
}

/** Shares of codes to expect of gaussian weights: each magnitude as often with either sign. */
function expected(values: number[], details: Pick<WeightDetails, "scalePlane">): number[] | null {
  const plane = details.scalePlane;
  if (!plane || plane.blockRows !== 1 || plane.blockCols > 256) return null;
  const half = values.length / 2;
  const shares = expectedMagnitudes(values.slice(0, half), { block: plane.blockCols, powerOfTwo: plane.element.includes("E8M0") });
  return values.map((_, code) => shares[code % half]! / 2);
}

function codeLines(counts: CodeCounts): Line[] {
  const total = Array.from(counts.counts).reduce((sum, n) => sum + n, 0);
  const at = (test: (value: number, code: number) => boolean) =>
    Array.from(counts.values, Number).reduce((sum, value, code) => sum + (test(value, code) ? counts.counts[code]! : 0), 0);
  const most = Math.max(...Array.from(counts.values).filter(Number.isFinite));
  const negativeZero = at((value) => Object.is(value, -0));
  const dead = Array.from(counts.counts).flatMap((n, code) => (n === 0 && Number.isFinite(counts.values[code]!) ? [code] : []));
  const [below, above] = [at((value) => value < 0), at((value) => value > 0)];
  return [
    { name: "codes", value: total.toLocaleString("en-US") },
    { name: "of them zero", value: share(at((value) => value === 0), total) },
    { name: "negative zero", value: share(negativeZero, total) },
    { name: `largest, ±${number(most)}`, value: share(at((value) => Math.abs(value) === most), total) },
    { name: "above and below zero", value: `${share(above, total)} and ${share(below, total)}`, odd: total > 1000 && Math.abs(above - below) > 0.1 * (above + below) },
    { name: "not a number", value: share(at((value) => !Number.isFinite(value)), total), odd: at((value) => !Number.isFinite(value)) > 0 },
    { name: "codes that never occur", value: dead.length === 0 ? "none" : dead.length > 12 ? `${dead.length} of ${counts.counts.length}` : dead.map((code) => hex(code, counts.counts.length > 16 ? 2 : 1)).join(" ") },
  ];
}
