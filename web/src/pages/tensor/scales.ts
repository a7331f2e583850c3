// The tab of scales: their plane as a heat map, its profiles and histogram, and what they are like.

import { h } from "../../dom.ts";
import { Figure } from "../../pictures/figure.ts";
import { profile } from "../../pictures/profile.ts";
import { scaleCodes, scaleRemarks } from "../../pictures/scales.ts";
import type { ScaleFacts, Share } from "../../protocol/look.ts";
import { bytes, whole } from "../../units.ts";
import { spacing } from "../parts/choose.ts";
import { linesTable } from "../parts/lines.ts";
import { problem } from "../parts/problem.ts";
import { Newest } from "./asked.ts";
import { MapPanel } from "./map.ts";
import type { Panel, Tools } from "./panel.ts";
import { scaleCounts } from "./scale-counts.ts";
import { scaleLines } from "./stats.ts";
import { about, fileWords, type TensorContext } from "./subject.ts";

/** Pieces of a profile. */
const PIECES = 256;

export function scalesPanel(root: HTMLElement, context: TensorContext, tools: Tools): Panel {
  const { client } = context.page;
  const { subject } = context;
  const facts = new Newest();
  const controller = new AbortController();
  let map: MapPanel | null = null;
  let counted: "log" | "linear" = "log";
  let found: ScaleFacts | null = null;

  const mapRoom = h("div", { class: "map-place waiting" }, h("p", { class: "empty" }, "Reading the scales."));
  const failure = h("div", { class: "failure" });
  const figure = (title: string, name: string, controls: HTMLElement[] = []) =>
    new Figure({ title, name: () => fileWords(context, name), about: () => about(context), controls, failed: tools.failed });
  const histogram = figure("Scale codes", "scale-codes", [spacing(counted, (value) => ((counted = value), drawHistogram())).root]);
  const byRow = figure("Along rows", "scales-along-rows");
  const byCol = figure("Along blocks", "scales-along-blocks");
  const lines = h("div");
  const figures = [histogram, byRow, byCol];
  root.replaceChildren(failure, mapRoom, h("div", { class: "pair" }, byRow.root, byCol.root), h("div", { class: "pair" }, histogram.root, lines));

  const ask = (share: Share) =>
    facts.run((signal) => client.call("scaleFacts", { subject, share }, { signal }), show, failed);
  void ask("some");

  /** What is below the picture comes after it. */
  function ready(): void {
    tools.ready();
    for (const [along, target] of [["rows", byRow], ["cols", byCol]] as const) {
      client.call("profile", { subject, layer: "scales", along, pieces: PIECES }, { signal: controller.signal }).then(
        (profiled) => target.show((width) => profile({ along: along === "rows" ? "row" : "block", ...profiled }, width, 112, "log")),
        tools.failed,
      );
    }
  }

  function show(facts: ScaleFacts): void {
    found = facts;
    const last = map;
    const open = (row: number, block: number) => tools.openBlock(row, block);
    map = new MapPanel({
      context,
      layer: "scales",
      title: "Block scales",
      plane: { rows: facts.rows, cols: facts.cols },
      quantiles: [facts.quantiles[0], facts.quantiles[2]],
      outliers: facts.outliers,
      outlierCount: facts.outlierCount,
      height: 440,
      openBlock: open,
      onReady: ready,
    });
    mapRoom.replaceChildren(map.root);
    mapRoom.classList.remove("waiting");
    last?.destroy();
    byRow.root.hidden = facts.rows < 2;
    byCol.root.hidden = facts.cols < 2;
    drawHistogram();
    lines.replaceChildren(linesTable("Statistics of the scales", scaleLines(facts)));
  }

  function drawHistogram(): void {
    if (!found) return;
    const counts = scaleCounts(found.stats);
    histogram.show((width) => scaleCodes(counts, width, counted));
    const remarks = scaleRemarks(counts).map((text) => h("strong", { class: "sentence" }, text, " "));
    histogram.note = [...remarks, ...sampleNote(found.rowsSeen, found.rows, context, () => void ask("all"))];
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
      for (const shown of figures) shown.destroy();
    },
  };
}

/** Which rows were looked at. */
type Rows = "spread" | "first";

/** Says how much was looked at, and offers the rest. */
export function sampleNote(seen: number, rows: number, context: TensorContext, all: () => void, which: Rows = "spread"): (Node | string)[] {
  if (seen >= rows) return [];
  const part = context.details.parts.reduce((sum, { start, end }) => sum + end - start, 0) / context.details.matrices;
  const cost = context.page.main.reach === "remote" ? `, up to ${bytes(part)}` : "";
  const said = which === "spread" ? `From ${whole(seen)} of ${whole(rows)} rows, spread evenly. ` : `From the first ${whole(seen)} of ${whole(rows)} rows. `;
  return [said, h("button", { type: "button", class: "button plain small", onclick: all }, `Look at all rows${cost}`)];
}
