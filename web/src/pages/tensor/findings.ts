// The tab of findings: what the doctor says of this weight.

import type { FoundFault } from "blockscale-wasm";
import { h } from "../../dom.ts";

/** Findings as a list, the worst first. */
export function findingsList(findings: readonly FoundFault[], open?: (tensor: string) => void): HTMLElement {
  if (findings.length === 0) return h("p", { class: "empty" }, "Nothing was found by names, shapes, configs and what was read of the bytes.");
  return h("ul", { class: "findings" }, ...findings.map((finding) => item(finding, open)));
}

function item(finding: FoundFault, open?: (tensor: string) => void): HTMLElement {
  const { severity, code, tensor, file, message, fix } = finding;
  const place = tensor && open ? h("a", { href: "#", onclick: (event: Event) => (event.preventDefault(), open(tensor)) }, tensor) : (tensor ?? file);
  return h(
    "li",
    { class: `finding ${severity}` },
    h("p", { class: "finding-head" }, h("span", { class: "severity" }, severity), h("code", {}, code), place ? " " : null, place),
    h("p", {}, message),
    fix ? h("p", { class: "fix" }, "To mend it: ", h("code", {}, fix)) : null,
  );
}
