// The key to the colours of a heat map.

import { css } from "../colour/maps.ts";
import { number, superscript } from "../format.ts";
import { canvasOf, svg } from "../svg/element.ts";
import { linear, ticks, wholeTicks } from "../svg/scale.ts";
import { type Paint, position } from "./paint.ts";

const HEIGHT = 34;
const SLICES = 96;

/** A bar of the colours with the numbers that they stand for. */
export function legend(paint: Paint, width: number, unit: string): SVGSVGElement {
  const [left, right] = [8, Math.max(60, width - 8)];
  const slice = (right - left) / SLICES;
  const bar = Array.from({ length: SLICES }, (_, i) =>
    svg("rect", { x: Math.round(left + i * slice), y: 2, width: Math.round(left + (i + 1) * slice) - Math.round(left + i * slice), height: 10, fill: css(paint.table, (255 * (i + 0.5)) / SLICES) }),
  );
  const place = linear(0, 1, left, right);
  const marks = legendTicks(paint, Math.max(2, Math.floor(width / 64))).map(({ value, text }) => {
    const x = place(position(value, paint));
    return [svg("line", { x1: x, x2: x, y1: 12, y2: 16, class: "axis" }), svg("text", { x, y: 28, "text-anchor": anchor(x, left, right) }, text)];
  });
  return canvasOf(width, HEIGHT, `Colours: ${unit} from ${number(paint.signed ? -paint.range.high : paint.range.low, 3)} to ${number(paint.range.high, 3)}`, ...bar, ...marks.flat());
}

function anchor(x: number, left: number, right: number): string {
  return x < left + 12 ? "start" : x > right - 12 ? "end" : "middle";
}

/** The numbers worth a tick. */
export function legendTicks(paint: Pick<Paint, "spacing" | "signed" | "range">, wanted: number): { value: number; text: string }[] {
  const { low, high } = paint.range;
  const power = (octave: number) => `2${superscript(octave)}`;
  if (paint.spacing === "log") {
    const [from, to] = [Math.log2(low), Math.log2(high)];
    const half = paint.signed ? Math.max(1, Math.floor(wanted / 2)) : wanted;
    const octaves = wholeTicks(from, to, half).filter((octave) => !paint.signed || octave > from + 0.5);
    if (octaves.length < 2 && !paint.signed) {
      return [low, high].filter((x, i, all) => i === 0 || x !== all[0]).map((value) => ({ value, text: number(value, 3) }));
    }
    const positive = octaves.map((octave) => ({ value: 2 ** octave, text: power(octave) }));
    if (!paint.signed) return positive;
    return [...positive.map(({ value, text }) => ({ value: -value, text: `−${text}` })).reverse(), { value: 0, text: "0" }, ...positive];
  }
  const [from, to] = paint.signed ? [-high, high] : [low, high];
  return ticks(from, to, wanted).map((value) => ({ value, text: number(Math.abs(value) < (to - from) * 1e-9 ? 0 : value, 3) }));
}
