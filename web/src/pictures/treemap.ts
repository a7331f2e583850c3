// Bytes as areas: squarified, two levels deep.

import { share } from "./format.ts";
import { bytes, whole } from "../units.ts";
import type { Mark, Plot } from "./plot.ts";
import { canvasOf, svg } from "./svg/element.ts";

/** A part of the checkpoint: a group of weights in one format. */
export interface Part {
  /** What is written on it. */
  name: string;
  /** The group that it lies in. */
  group: string;
  format: string;
  bytes: number;
  weights: number;
}

/** Splits `area` by sizes (falling) into rectangles that are as near to squares as rows of them get. */
export function squarify(sizes: readonly number[], area: Mark): Mark[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= 0) return sizes.map(() => ({ x: area.x, y: area.y, width: 0, height: 0 }));
  const unit = (area.width * area.height) / total;
  const marks: Mark[] = [];
  let rest = { ...area };
  let start = 0;
  while (start < sizes.length) {
    const side = Math.min(rest.width, rest.height);
    let end = start + 1;
    let sum = sizes[start]! * unit;
    while (end < sizes.length) {
      const next = sum + sizes[end]! * unit;
      if (worst(sizes[start]! * unit, sizes[end]! * unit, next, side) > worst(sizes[start]! * unit, sizes[end - 1]! * unit, sum, side)) break;
      sum = next;
      end += 1;
    }
    const thick = side > 0 ? sum / side : 0;
    let along = 0;
    for (let i = start; i < end; i++) {
      const length = thick > 0 ? (sizes[i]! * unit) / thick : 0;
      marks.push(
        rest.width >= rest.height
          ? { x: rest.x, y: rest.y + along, width: thick, height: length }
          : { x: rest.x + along, y: rest.y, width: length, height: thick },
      );
      along += length;
    }
    rest =
      rest.width >= rest.height
        ? { ...rest, x: rest.x + thick, width: rest.width - thick }
        : { ...rest, y: rest.y + thick, height: rest.height - thick };
    start = end;
  }
  return marks;
}

/** The worse of the ratios of sides in a row from the largest to the smallest area. */
function worst(largest: number, smallest: number, sum: number, side: number): number {
  const square = sum * sum;
  return Math.max((side * side * largest) / square, square / (side * side * smallest));
}

/** Draws parts `width` x `height` CSS pixels; `colour` gives each format its place in the list of colours. */
export function treemap(parts: Part[], width: number, height: number, colour: (format: string) => number, open?: (part: Part) => void): Plot {
  const total = parts.reduce((sum, part) => sum + part.bytes, 0);
  const groups = new Map<string, Part[]>();
  for (const part of parts) groups.set(part.group, [...(groups.get(part.group) ?? []), part]);
  const size = (list: Part[]) => list.reduce((sum, part) => sum + part.bytes, 0);
  const sorted = [...groups].sort((a, b) => size(b[1]) - size(a[1]));
  const areas = squarify(sorted.map(([, list]) => size(list)), { x: 0, y: 0, width, height });

  const placed: { part: Part; mark: Mark }[] = [];
  const titles: SVGElement[] = [];
  sorted.forEach(([group, list], i) => {
    const area = areas[i]!;
    const titled = area.height > 44 && area.width > 64;
    const head = titled ? 18 : 0;
    const inner = { x: area.x + 1, y: area.y + 1 + head, width: Math.max(0, area.width - 2), height: Math.max(0, area.height - 2 - head) };
    if (titled) titles.push(svg("text", { x: area.x + 5, y: area.y + 14, class: "title" }, clip(group, area.width - 10)));
    const ordered = [...list].sort((a, b) => b.bytes - a.bytes);
    squarify(ordered.map((part) => part.bytes), inner).forEach((mark, k) => placed.push({ part: ordered[k]!, mark }));
  });
  const text = (part: Part) =>
    `${part.group === part.name ? part.name : `${part.group} ${part.name}`}: ${part.format}, ${bytes(part.bytes)}, ${share(part.bytes, total)} of all, ${whole(part.weights)} weights`;
  const node = canvasOf(
    width,
    height,
    `${bytes(total)} of weights as areas, coloured by format`,
    ...placed.flatMap(({ part, mark }) => {
      const rect = svg("rect", {
        x: mark.x + 0.5,
        y: mark.y + 0.5,
        width: Math.max(0, mark.width - 1),
        height: Math.max(0, mark.height - 1),
        class: `area format-${colour(part.format)}`,
      });
      if (mark.width < 56 || mark.height < 22) return [rect];
      const lines = [svg("text", { x: mark.x + 6, y: mark.y + 16, class: "on-area" }, clip(part.name, mark.width - 12))];
      if (mark.height > 38) lines.push(svg("text", { x: mark.x + 6, y: mark.y + 31, class: "on-area faint" }, clip(bytes(part.bytes), mark.width - 12)));
      return [rect, ...lines];
    }),
    ...titles,
  );
  return {
    node,
    table: {
      caption: "Bytes of weights, by part and format.",
      columns: [
        { name: "group", kind: "text" },
        { name: "part", kind: "text" },
        { name: "format", kind: "text" },
        { name: "bytes", kind: "count" },
        { name: "weights", kind: "count" },
      ],
      rows: placed.map(({ part }) => [part.group, part.name, part.format, part.bytes, part.weights]),
    },
    items: {
      count: placed.length,
      text: (i) => text(placed[i]!.part),
      mark: (i) => placed[i]!.mark,
      pick: (x, y) => {
        const i = placed.findIndex(({ mark }) => x >= mark.x && x < mark.x + mark.width && y >= mark.y && y < mark.y + mark.height);
        return i < 0 ? null : i;
      },
      ...(open ? { open: (i: number) => open(placed[i]!.part) } : {}),
    },
  };
}

function clip(text: string, room: number): string {
  const fits = Math.floor(room / 6.4);
  return text.length <= fits ? text : fits < 3 ? "" : `${text.slice(0, fits - 1)}…`;
}
