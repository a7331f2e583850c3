// The format of a block, told in a few sentences and a table of its codes.

import type { BlockSteps, WeightDetails } from "blockscale-wasm";
import { h } from "../../dom.ts";
import { exact, hex } from "../format.ts";
import { typeOf } from "./types.ts";

/** What the format is, for somebody who sees it for the first time. */
export function aboutFormat(details: WeightDetails, steps: BlockSteps, values: readonly number[] | null): HTMLElement {
  const plane = details.scalePlane;
  const [element, scale] = [typeOf(details.element ?? ""), typeOf(plane?.element ?? "")];
  const sentences: (Node | string)[] = [];
  if (plane) {
    const area = plane.rows === 1 && plane.cols === 1 ? "the whole tensor" : plane.blockRows === 1 && plane.cols === 1 ? "a row" : plane.blockRows === 1 ? `${plane.blockCols} columns of a row` : `${plane.blockRows} rows by ${plane.blockCols} columns`;
    sentences.push(h("p", {}, h("strong", {}, details.format), ` stores each weight as a code${details.element ? ` of ${details.element}` : ""}, and one ${plane.element} scale for ${area}. `, secondLevel(steps)));
  }
  const facts = [
    element ? ([`Element ${element.name}`, element.about] as const) : null,
    scale ? ([`Scale ${plane?.element ?? ""}`, scale.about] as const) : null,
    details.element ? (["Packing", packing(details.element)] as const) : null,
    ["Order of scales", details.layout === "linear" ? "Row by row, one after the other, as the blocks lie." : `As the layout ${details.layout} has them; they are put into rows before they are shown here.`] as const,
    ["Arithmetic", ARITHMETIC[steps.kind]] as const,
  ].filter((fact) => fact !== null);
  return h(
    "section",
    { class: "about-format", "aria-label": `About ${details.format}` },
    h("h2", {}, "How this format works"),
    ...sentences,
    h("dl", {}, ...facts.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
    values && values.length <= 16 ? codeTable(values) : null,
  );
}

function secondLevel(steps: BlockSteps): string {
  const direction = steps.scale?.direction ?? "none";
  if (direction === "none") return "There is no second scale.";
  const verb = direction === "divisor" ? "divided by" : "multiplied with";
  return `A second scale, one F32 for the whole tensor, is ${verb} the first: the block scale alone could not reach small weights.`;
}

/** How numbers are made of codes, by kind of block. */
const ARITHMETIC: Record<BlockSteps["kind"], string> = {
  block: "Codes and scales widen to F32 exactly. Both scales are combined in one F32 operation, then the element is multiplied by the result in another: at most two roundings, and a third to BF16.",
  integers: "A code less its zero point is multiplied by the scale of its group, in F32; where there is a bias, it is added.",
  ggml: "Scale and codes of a block lie together. ggml multiplies integers with the scale; E2M1 is doubled for that, and its scale halved.",
  plain: "A number stands for itself.",
};

function packing(element: string): string {
  if (element === "E2M1") return "Two codes a byte: the even column in the low half, the odd one in the high half.";
  if (element === "E2M3" || element === "E3M2") return "Six bits a code: four codes in three bytes, the first in the lowest bits, or one a byte.";
  return "One code a byte.";
}

/** All codes with their values: sixteen fit beside each other. */
function codeTable(values: readonly number[]): HTMLElement {
  const half = values.length / 2;
  const line = (from: number) => [
    h("tr", {}, h("th", { scope: "row" }, "code"), ...values.slice(from, from + half).map((_, i) => h("td", {}, hex(from + i, 1)))),
    h("tr", {}, h("th", { scope: "row" }, "value"), ...values.slice(from, from + half).map((value) => h("td", {}, exact(value)))),
  ];
  return h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "All codes" }, h("table", { class: "block-table all-codes" }, h("tbody", {}, ...line(0), ...line(half))));
}
