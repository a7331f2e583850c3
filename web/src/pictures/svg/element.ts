// SVG elements, with numbers as short as the eye needs them.

import { s } from "../../dom.ts";

type Attributes = Record<string, string | number | undefined>;

/** An element of SVG with attributes and children; a child that is a string is text. */
export function svg(name: keyof SVGElementTagNameMap, attributes: Attributes = {}, ...children: (SVGElement | string)[]): SVGElement {
  const entries = Object.entries(attributes).map(([key, value]) => [key, typeof value === "number" ? round(value) : value]);
  return s(name, Object.fromEntries(entries), ...children);
}

/** A picture of that size in CSS pixels. */
export function canvasOf(width: number, height: number, label: string, ...children: SVGElement[]): SVGSVGElement {
  const attributes = { viewBox: `0 0 ${round(width)} ${round(height)}`, width, height, role: "img", "aria-label": label };
  return svg("svg", { ...attributes, class: "plot" }, ...children) as SVGSVGElement;
}

/** A path through points, given in pairs. */
export function path(points: readonly (readonly [number, number])[], close = ""): string {
  return points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${round(x)} ${round(y)}`).join("") + close;
}

function round(x: number): string {
  return String(Math.round(x * 100) / 100);
}
