// What the keys do.

import { h } from "../dom.ts";

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["/", "filter the tensors"],
  ["↑ ↓ Home End", "move in the list"],
  ["→ ←", "open and close a module"],
  ["letters", "go to the next name that starts so"],
  ["Enter", "show a tensor"],
  ["arrows", "move a block in the picture; with Shift a tile"],
  ["+ −  0", "zoom; fit the whole plane"],
  ["L  G", "linear or logarithmic; tile lines"],
  ["?", "this help"],
  ["Esc", "close it"],
];

export function helpDialog(): HTMLDialogElement {
  const rows = KEYS.map(([keys, does]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, keys)), h("td", {}, does)));
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    h("table", { class: "table" }, h("tbody", {}, ...rows)),
    h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Close"),
  );
  return dialog;
}
