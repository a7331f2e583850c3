// The tab of comparison: two weights side by side, or what differs between them.

import { h } from "../../dom.ts";
import { lut } from "../../pictures/colour/maps.ts";
import { theme } from "../../pictures/colour/theme.ts";
import { Figure } from "../../pictures/figure.ts";
import { exact, number, share } from "../../pictures/format.ts";
import type { Spot } from "../../pictures/heat/heat-map.ts";
import { rangeOf } from "../../pictures/heat/range.ts";
import { edgesOf } from "../../pictures/heat/tiles.ts";
import { scatter } from "../../pictures/scatter.ts";
import type { Compared, LayerName, Share, Subject } from "../../protocol/look.ts";
import { whole } from "../../units.ts";
import { Segmented } from "../parts/choose.ts";
import { linesTable } from "../parts/lines.ts";
import { problem } from "../parts/problem.ts";
import { Latest, Newest } from "../tensor/asked.ts";
import type { Panel, Tools } from "../tensor/panel.ts";
import { sampleNote } from "../tensor/scales.ts";
import type { Line } from "../tensor/stats.ts";
import { about, fileWords, type TensorContext, tileOf } from "../tensor/subject.ts";
import { type Linked, linked, type Side } from "./linked.ts";
import { type Against, against, candidates, sameShape } from "./with.ts";

type Mode = "side by side" | "difference";

/** How a comparison is shown, as long as the page is open. */
const shown: { mode: Mode; layer: LayerName } = { mode: "side by side", layer: "scales" };

export function comparePanel(root: HTMLElement, context: TensorContext, tools: Tools): Panel {
  const { page } = context;
  const choice = against(context, page.router.route.stat);
  const chooser = choose(context, choice);
  if (!choice) {
    tools.ready();
    root.replaceChildren(chooser, h("p", { class: "empty" }, "Nothing to compare with yet: choose a weight of the same shape, open a second checkpoint, or read the bytes in another way above."));
    return { destroy: () => undefined };
  }
  const comparison = new ComparePanel(context, choice, tools);
  root.replaceChildren(chooser, comparison.root);
  return comparison;
}

/** The control of what the weight is compared with. */
function choose(context: TensorContext, choice: Against | null): HTMLElement {
  const { page, weight } = context;
  const go = (stat: string) => page.router.refine({ stat });
  const quick = candidates(context);
  const input = h("input", {
    type: "text",
    id: "compare-with",
    list: "compare-names",
    value: choice?.key.startsWith("=") ? choice.key.slice(1) : "",
    placeholder: "a weight of this checkpoint",
    autocomplete: "off",
    onchange: () => input.value !== "" && go(`=${input.value}`),
  });
  const names = h("datalist", { id: "compare-names" }, ...sameShape(page, weight, 200).map((value) => h("option", { value })));
  return h(
    "div",
    { class: "compare-with" },
    h("label", { for: "compare-with" }, "compare with"),
    ...quick.map(({ key, text }) => h("button", { type: "button", class: "button", "aria-pressed": String(key === choice?.key), onclick: () => go(key) }, text)),
    input,
    names,
  );
}

class ComparePanel implements Panel {
  readonly root: HTMLElement;
  #asked = new Newest();
  #maps: Linked | null = null;
  #mapRoom = h("div", {}, h("p", { class: "empty" }, "Reading both."));
  #under = h("p", { class: "readout", "aria-live": "polite" });
  #failure = h("div", { class: "failure" });
  #lines = h("div");
  #note = h("p", { class: "note" });
  #scatter: Figure;
  #found: Compared | null = null;
  #tools: Tools;
  #point: Latest<Spot, [number, number]>;

  constructor(
    private readonly context: TensorContext,
    private readonly other: Against,
    tools: Tools,
  ) {
    this.#tools = tools;
    const { page, subject } = context;
    this.#scatter = new Figure({ title: "Scale against scale", name: () => fileWords(context, "scale-against-scale"), about: () => this.#about(), failed: tools.failed });
    this.#point = new Latest<Spot, [number, number]>(
      (spot) => {
        const at = (of: Subject) => page.client.call("point", { subject: of, layer: this.#layer, ...spot }).then(({ value }) => value);
        return Promise.all([at(other.subject), at(subject)]);
      },
      (spot, [a, b]) => (this.#under.textContent = `row ${whole(spot.row)}, ${this.#layer === "scales" ? "block" : "column"} ${whole(spot.col)}: reference ${exact(a)}, this ${exact(b)}, difference ${number(b - a, 5)}`),
      (error) => this.#fail(error),
    );
    const modes = new Segmented<Mode>("View", [{ value: "side by side", text: "Side by side" }, { value: "difference", text: "Difference" }], shown.mode, (mode) => ((shown.mode = mode), this.#drawMaps()));
    const layers = new Segmented<LayerName>("Numbers", [{ value: "scales", text: "Scales" }, { value: "values", text: "Weights" }], this.#layer, (layer) => ((shown.layer = layer), this.#drawMaps()));
    this.root = h(
      "div",
      { class: "compare" },
      this.#failure,
      h("div", { class: "row" }, modes.root, context.details.scalePlane ? layers.root : null),
      this.#mapRoom,
      this.#under,
      this.#note,
      h("div", { class: "pair" }, this.#lines, this.#scatter.root),
    );
    this.#scatter.root.hidden = true;
    this.#ask("some");
  }

  destroy(): void {
    this.#asked.cancel();
    this.#maps?.destroy();
    this.#scatter.destroy();
  }

  get #layer(): LayerName {
    return this.context.details.scalePlane ? shown.layer : "values";
  }

  #ask(part: Share): void {
    const { client } = this.context.page;
    void this.#asked.run(
      (signal) => client.call("compare", { reference: this.other.subject, output: this.context.subject, share: part }, { signal }),
      (answer) => {
        this.#found = answer;
        this.#tools.ready();
        this.#lines.replaceChildren(linesTable(`Against ${this.other.text}`, errorLines(answer)));
        this.#note.replaceChildren(...sampleNote(answer.rowsSeen, answer.rows, this.context, () => this.#ask("all"), "first"));
        this.#drawScatter();
        this.#drawMaps();
      },
      (error) => this.#fail(error),
    );
  }

  #drawMaps(): void {
    this.#maps?.destroy();
    const found = this.#found;
    if (!found) return;
    const { details, subject, page } = this.context;
    const layer = this.#layer;
    const plane = layer === "scales" && details.scalePlane ? { rows: details.scalePlane.rows, cols: details.scalePlane.cols } : { rows: found.rows, cols: found.cols };
    void this.#range(layer).then(
      (range) => {
        const side = (title: string, of: Subject): Side => ({
          title,
          unit: layer === "scales" ? "scales" : "weights",
          signed: layer === "values",
          range,
          look: layer === "scales" ? { spacing: "log", map: "viridis", lines: true } : { spacing: "linear", map: "diverging", lines: true },
          fetch: (id, signal) => page.client.call("cells", { subject: of, layer, ...edgesOf(id, plane) }, { signal }),
        });
        const difference: Side = {
          title: "This less the reference",
          unit: "differences",
          signed: true,
          range: rangeOf(0, layer === "values" ? Number(found.total.maxAbsError) || range.high : range.high, true),
          look: { spacing: "log", map: "diverging", lines: true },
          fetch: (id, signal) => page.client.call("differenceCells", { reference: this.other.subject, output: subject, layer, ...edgesOf(id, plane) }, { signal }),
        };
        const sides = shown.mode === "difference" ? [difference] : [side(`Reference: ${this.other.text}`, this.other.subject), side("This", subject)];
        this.#maps?.destroy();
        this.#maps = linked(plane, tileOf(details, layer), sides, (spot) => (spot ? this.#point.want(spot) : undefined), (error) => this.#fail(error));
        this.#mapRoom.replaceChildren(this.#maps.root);
      },
      (error: unknown) => this.#fail(error),
    );
  }

  /** One range for both, so that a colour means one number: the reference's. */
  async #range(layer: LayerName) {
    const { client } = this.context.page;
    if (layer === "scales") {
      const { quantiles } = await client.call("scaleFacts", { subject: this.other.subject, share: "some" });
      return rangeOf(quantiles[0], quantiles[2], false);
    }
    const { quantiles } = await client.call("valueFacts", { subject: this.other.subject, share: "some" });
    return rangeOf(quantiles[0], quantiles[1], true);
  }

  #drawScatter(): void {
    const pairs = this.#found?.pairs;
    this.#scatter.root.hidden = !pairs;
    if (!pairs) return;
    this.#scatter.show((width) => scatter({ ...pairs, names: ["reference", "this"] }, width, lut("viridis", theme())));
    this.#scatter.note = pairs.left > 0 ? `${whole(pairs.left)} pairs have no place in the plot: zero, negative or not finite.` : "Equal scales lie on the diagonal.";
  }

  #about(): Record<string, unknown> {
    return { ...about(this.context), against: this.other.text };
  }

  #fail(error: unknown): void {
    const failure = problem(error, () => {
      this.#failure.replaceChildren();
      this.#ask("some");
    });
    this.#tools.ready();
    if (failure) this.#failure.replaceChildren(failure);
  }
}

/** Errors in lines. */
function errorLines({ total, rowsSeen, rows }: Pick<Compared, "total" | "rowsSeen" | "rows">): Line[] {
  const part = rowsSeen < rows ? ` (of ${whole(rowsSeen)} of ${whole(rows)} rows)` : "";
  return [
    { name: "weights compared", value: `${whole(total.count)}${part}` },
    { name: "SQNR", value: total.exact ? "equal, every weight" : `${number(Number(total.sqnrDb), 4)} dB` },
    { name: "cosine", value: number(Number(total.cosine), 8) },
    { name: "norm, this to reference", value: number(Number(total.normRatio), 6), odd: Math.abs(Number(total.normRatio) - 1) > 0.05 },
    { name: "largest error", value: number(Number(total.maxAbsError), 5) },
    { name: "weights that differ", value: total.differing === 0 ? "none" : `${whole(total.differing)}, ${share(total.differing, total.count)}` },
    { name: "NaN or infinite on one side only", value: total.specialMismatch === 0 ? "none" : whole(total.specialMismatch), odd: total.specialMismatch > 0 },
  ];
}
