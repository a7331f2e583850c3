// The menu under a picture: take it away as a picture or in numbers.

import { h } from "../dom.ts";
import type { Table } from "../pictures/table.ts";
import { png, standalone } from "./image.ts";
import { fileName, save } from "./save.ts";
import { csv, json } from "./text.ts";

export interface Exported {
  /** Words of the file's name. */
  name: readonly string[];
  /** What the picture is about, for JSON. */
  about: Record<string, unknown>;
  picture(): SVGSVGElement | null;
  /** The numbers, which may have to be fetched. */
  table(): Table | Promise<Table>;
}

export type Ending = "png" | "svg" | "csv" | "json";

/** What each kind of file is made of. */
const MAKE: Record<Ending, (exported: Exported) => Promise<Blob>> = {
  png: async (exported) => {
    const picture = drawn(exported);
    return png(standalone(picture), picture.width.baseVal.value, picture.height.baseVal.value);
  },
  svg: async (exported) => new Blob([standalone(drawn(exported))], { type: "image/svg+xml" }),
  csv: async (exported) => new Blob([csv(await exported.table())], { type: "text/csv" }),
  json: async (exported) => new Blob([json(await exported.table(), exported.about)], { type: "application/json" }),
};

/** Buttons that save. */
export function saveMenu(of: () => Exported | null, failed: (error: unknown) => void, endings: readonly Ending[] = ["png", "svg", "csv", "json"]): HTMLElement {
  const menu = h("details", { class: "menu" }, h("summary", {}, "Save"));
  const item = (ending: Ending) => h("button", { type: "button", class: "button plain", onclick: () => void run(ending) }, ending.toUpperCase());
  const list = h("div", { class: "menu-items", role: "group", "aria-label": "Save as" }, ...endings.map(item));
  menu.append(list);
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  });

  async function run(ending: Ending): Promise<void> {
    const exported = of();
    if (!exported) return;
    try {
      save(fileName(exported.name, ending), await MAKE[ending](exported));
      menu.open = false;
    } catch (error) {
      failed(error);
    }
  }
  return menu;
}

function drawn(exported: Exported): SVGSVGElement {
  const picture = exported.picture();
  if (!picture) throw new Error("there is no picture yet");
  return picture;
}
