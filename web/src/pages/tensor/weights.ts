// The tab of weights: the numbers as a heat map, their histogram over the format's grid, and what they are like.

import { h } from "../../dom.ts";
import { Figure } from "../../pictures/figure.ts";
import { number, share } from "../../pictures/format.ts";
import { histogram as histogramPlot } from "../../pictures/histogram.ts";
import { profile } from "../../pictures/profile.ts";
import type { Share, ValueFacts } from "../../protocol/look.ts";
import { bytes } from "../../units.ts";
import { spacing } from "../parts/choose.ts";
import { linesTable } from "../parts/lines.ts";
import { problem } from "../parts/problem.ts";
import { Newest } from "./asked.ts";
import { MapPanel } from "./map.ts";
import type { Panel, Tools } from "./panel.ts";
import { sampleNote } from "./scales.ts";
import { valueLines } from "./stats.ts";
import { about, fileWords, type TensorContext } from "./subject.ts";

/** Bytes of a remote weight that are read without asking. */
const UNASKED = 16 << 20;
const PIECES = 256;

export function weightsPanel(root: HTMLElement, context: TensorContext, tools: Tools): Panel {
  const { client } = context.page;
  const { subject, details } = context;
  const facts = new Newest();
  const controller = new AbortController();
  let map: MapPanel | null = null;
  let counted: "log" | "linear" = "linear";
  let found: ValueFacts | null = null;

  const mapRoom = h("div", { class: "map-place waiting" }, h("p", { class: "empty" }, "Reading some of the weights."));
  const failure = h("div", { class: "failure" });
  const figure = (title: string, name: string, controls: HTMLElement[] = []) =>
    new Figure({ title, name: () => fileWords(context, name), about: () => about(context), controls, failed: tools.failed });
  const histogram = figure("Histogram", "weights", [spacing(counted, (value) => ((counted = value), drawHistogram())).root]);
  const byRow = figure("Along rows", "weights-along-rows");
  const byCol = figure("Along columns", "weights-along-columns");
  const profiles = h("div", { class: "pair" }, byRow.root, byCol.root);
  const lines = h("div");
  profiles.hidden = true;
  root.replaceChildren(failure, mapRoom, profiles, h("div", { class: "pair" }, histogram.root, lines));

  const ask = (wanted: Share) => facts.run((signal) => client.call("valueFacts", { subject, share: wanted }, { signal }), show, failed);
  void ask("some");

  function show(answer: ValueFacts): void {
    found = answer;
    drawHistogram();
    lines.replaceChildren(linesTable("Statistics of the weights", valueLines(answer)));
    if (map) return;
    client.call("missing", { subject, layer: "values", row: 0, rowEnd: answer.rows }, { signal: controller.signal }).then((missing) => {
      if (context.page.main.reach === "remote" && missing > UNASKED) offer(missing, answer);
      else drawMap(answer);
    }, tools.failed);
  }

  /** A picture of all of a large remote weight is not fetched without being asked for. */
  function offer(missing: number, answer: ValueFacts): void {
    tools.ready();
    mapRoom.classList.remove("waiting");
    mapRoom.replaceChildren(
      h(
        "div",
        { class: "offer" },
        h("p", {}, `The picture of all weights takes ${bytes(missing)} from the server.`),
        h("button", { type: "button", class: "button", onclick: () => drawMap(answer) }, `Read ${bytes(missing)}`),
      ),
    );
  }

  function drawMap(answer: ValueFacts): void {
    map = new MapPanel({
      context,
      layer: "values",
      title: "Weights",
      plane: { rows: answer.rows, cols: answer.cols },
      quantiles: answer.quantiles,
      outliers: [],
      outlierCount: 0,
      height: 440,
      openBlock: (row, block) => tools.openBlock(row, block),
      onReady: ready,
    });
    mapRoom.classList.remove("waiting");
    mapRoom.replaceChildren(map.root);
    profiles.hidden = false;
    // Of one row there is nothing along rows.
    byRow.root.hidden = answer.rows < 2;
  }

  /** What is below the picture comes after it. */
  function ready(): void {
    tools.ready();
    for (const [along, target] of [["rows", byRow], ["cols", byCol]] as const) {
      client.call("profile", { subject, layer: "values", along, pieces: PIECES }, { signal: controller.signal }).then(
        (profiled) => target.show((width) => profile({ along: along === "rows" ? "row" : "column", ...profiled }, width, 112, "linear")),
        tools.failed,
      );
    }
  }

  function drawHistogram(): void {
    if (!found) return;
    const answer = found;
    const scale = answer.medianScale;
    const grid = answer.blocks && scale ? answer.blocks.values.map((value) => Number(value) * scale).filter(Number.isFinite) : [];
    const gridName = scale ? `the values of ${details.element ?? "the format"} under the scale in the middle, ${number(scale, 4)}` : "";
    histogram.show((width) => histogramPlot({ edges: answer.edges, counts: answer.counts, nan: answer.nan, grid, gridName }, width, counted));
    histogram.note = [...inWords(answer, gridName), ...sampleNote(answer.rowsSeen, answer.rows, context, () => void ask("all"))];
  }

  function failed(error: unknown): void {
    const shown = problem(error, () => {
      failure.replaceChildren();
      void ask("some");
    });
    if (!shown) return;
    tools.ready();
    failure.replaceChildren(shown);
    if (!map) mapRoom.replaceChildren();
  }

  return {
    destroy() {
      facts.cancel();
      controller.abort();
      map?.destroy();
      for (const shown of [histogram, byRow, byCol]) shown.destroy();
    },
  };
}

/** What of the weights is zero, saturated, or beyond the plot. */
function inWords(facts: ValueFacts, gridName: string): string[] {
  const { values, blocks, counts } = facts;
  const beyond = (counts[0] ?? 0) + (counts[counts.length - 1] ?? 0);
  const sentences = [`${share(values.zeros, values.count)} are zero.`];
  if (blocks) {
    sentences.push(`${share(blocks.saturated, blocks.count)} have the largest code: the largest of a block, or cut off.`);
    if (blocks.silenced > 0) sentences.push(`${share(blocks.silenced, blocks.blocks)} of the blocks round to zero: their codes are not, their scale is.`);
  }
  if (beyond > 0) sentences.push(`${share(beyond, values.count)} lie beyond the plot, up to ${number(Number(values.maxAbs), 4)}.`);
  if (gridName !== "") sentences.push(`Ticks: ${gridName}.`);
  return [sentences.join(" "), " "];
}
