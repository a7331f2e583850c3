// The few icons, as lines in a square of 16.

import { s } from "../dom.ts";

const PATHS = {
  list: "M2 4h12M2 8h12M2 12h12",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.3 10.3L14 14",
  compare: "M2 5h11M10 2l3 3l-3 3M14 11H3M6 8l-3 3l3 3",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  light: "M8 5a3 3 0 1 0 0 6a3 3 0 1 0 0-6M8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.5 1.5M11.5 11.5L13 13M3 13l1.5-1.5M11.5 4.5L13 3",
  dark: "M13 9.5A5.5 5.5 0 1 1 6.5 3A4.5 4.5 0 0 0 13 9.5Z",
  help: "M5.5 6a2.5 2.5 0 1 1 3.7 2.2C8.3 8.7 8 9.2 8 10M8 12.5v.5",
} as const;

export type IconName = keyof typeof PATHS;

export function icon(name: IconName): SVGSVGElement {
  const path = s("path", { d: PATHS[name], fill: "none", stroke: "currentColor", "stroke-width": 1.25, "stroke-linecap": "round", "stroke-linejoin": "round" });
  return s("svg", { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, path);
}
