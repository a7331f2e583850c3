// What is under the crosshair, in words and numbers, beside the heat map.

import type { WeightDetails } from "blockscale-wasm";
import { h } from "../../dom.ts";
import { bits, exact, hex, number, power } from "../../pictures/format.ts";
import type { LayerName, Pointed } from "../../protocol/look.ts";
import { whole } from "../../units.ts";

export interface Under {
  row: number;
  col: number;
}

/** The rows and columns of weights that a place of a layer covers. */
export function covers(details: WeightDetails, layer: LayerName, spot: Under): { rows: [number, number]; cols: [number, number] } {
  const plane = details.scalePlane;
  if (layer === "values" || !plane) return { rows: [spot.row, spot.row], cols: [spot.col, spot.col] };
  const end = (at: number, size: number, most: number): [number, number] => [at * size, Math.min(most, (at + 1) * size) - 1];
  return { rows: end(spot.row, plane.blockRows, details.rows), cols: end(spot.col, plane.blockCols, details.cols) };
}

/** Lines of a name and what there is to say of it. */
export class ReadOut {
  readonly root: HTMLElement;
  #list = h("div", { class: "lines", "aria-live": "polite", "aria-atomic": "true" });
  #open: HTMLButtonElement;

  constructor(
    private readonly details: WeightDetails,
    private readonly layer: LayerName,
    openBlock: () => void,
  ) {
    this.#open = h("button", { type: "button", class: "button", onclick: openBlock }, "Block in numbers");
    this.root = h("section", { class: "read-out", "aria-label": "Read-out" }, this.#list, this.#open);
    this.clear();
  }

  clear(): void {
    this.#list.replaceChildren(h("p", { class: "muted" }, "Point at the picture, or move over it with the arrow keys."));
    this.#open.hidden = true;
  }

  /** Shows a place; `pointed` is what was read there, once it was. */
  show(spot: Under, pointed: Pointed | null): void {
    const { rows, cols } = covers(this.details, this.layer, spot);
    const lines: [string, string | Node][] = [
      [rows[0] === rows[1] ? "row" : "rows", range(rows)],
      ...(this.layer === "scales" ? [["block", whole(spot.col)] as [string, string]] : []),
      [cols[0] === cols[1] ? "column" : "columns", range(cols)],
      ...(pointed ? this.#numbers(pointed) : [["value", "reading"] as [string, string]]),
    ];
    this.#list.replaceChildren(h("dl", {}, ...lines.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
    this.#open.hidden = this.details.scalePlane === null;
  }

  #numbers({ value, scale }: Pointed): [string, string | Node][] {
    if (!scale) return [["value", h("strong", {}, exact(value))], ["", power(value)]];
    const lines: [string, string | Node][] = [[scale.bytes.length === 1 ? "byte" : "bytes", scale.bytes.map((byte) => hex(byte)).join(" ")]];
    const { fields } = scale;
    if (fields && scale.bytes.length === 1) {
      lines.push(["bits", h("span", { class: "bits" }, field("sign", fields.sign === null ? "" : String(fields.sign)), field("exponent", bits(fields.exponent, fields.exponentBits)), field("mantissa", bits(fields.mantissa, fields.mantissaBits)))]);
    }
    lines.push(["scale", power(Number(scale.block))]);
    if (scale.global !== null) lines.push([scale.direction === "divisor" ? "divided by" : "times", number(Number(scale.global), 6)]);
    lines.push(["is", h("strong", {}, exact(value))]);
    return lines;
  }
}

function field(name: string, text: string): Node | null {
  return text === "" ? null : h("span", { class: name, title: name }, text);
}

function range([from, to]: [number, number]): string {
  return from === to ? whole(from) : `${whole(from)} to ${whole(to)}`;
}
