// The histogram of block scales: by byte or by exponent, with what has no place on the axis marked beside it.

import { exact, hex, number, share, superscript } from "./format.ts";
import { whole } from "../units.ts";
import type { Mark, Plot } from "./plot.ts";
import { canvasOf, svg } from "./svg/element.ts";
import { axisX, countTicks, gridY, short } from "./svg/parts.ts";
import { heights, linear, ticks, wholeTicks } from "./svg/scale.ts";

/** One bar: scales that share a byte, or an exponent. */
export interface ScaleBin {
  /** The byte; the exponent as stored where scales have more bytes. */
  code: number;
  /** What the byte is worth; a power of two for an exponent. */
  value: number;
  count: number;
}

export interface ScaleCounts {
  /** Name of the scales' type. */
  element: string;
  by: "byte" | "exponent";
  /** Every bin that may occur, in rising order of values; zero, NaN and infinities are not among them. */
  bins: ScaleBin[];
  zeros: number;
  nan: number;
  /** Scales of the largest value that the type has. */
  saturated: number;
  /** Scales of exactly one. */
  ones: number;
  total: number;
}

const SPECIAL_WIDTH = 40;
/** A larger share of scales at the largest value than this is odd: of NVFP4 the largest block is there by design. */
const CUT_OFF = 0.002;

/** Whether so many scales are at the largest value that some were cut off. */
function isCutOff(data: ScaleCounts): boolean {
  return data.saturated > 1 && data.saturated > CUT_OFF * data.total;
}

/** Draws it `width` CSS pixels wide. */
export function scaleCodes(data: ScaleCounts, width: number, spacing: "linear" | "log"): Plot {
  const used = data.bins.map((bin, i) => (bin.count > 0 ? i : -1)).filter((i) => i >= 0);
  const [first, last] = [Math.max(0, (used[0] ?? 0) - 4), Math.min(data.bins.length - 1, (used.at(-1) ?? 0) + 4)];
  const bins = data.bins.slice(first, last + 1);
  const box = { left: 44, top: 8, right: width - 8 - 2 * SPECIAL_WIDTH - 8, bottom: 168 };
  const most = Math.max(1, data.zeros, data.nan, ...bins.map((bin) => bin.count));
  const height = heights(most, spacing, box.bottom - box.top);
  const x = linear(0, bins.length, box.left, box.right);
  const step = x(1) - x(0);
  const largest = data.bins.at(-1);

  const bars = bins.map((bin, i) => {
    const tall = height(bin.count);
    const kind = bin === largest && isCutOff(data) ? "bar saturated" : bin.value === 1 && bin.count > 0 ? "bar one" : "bar";
    const gap = step > 4 ? 0.12 * step : 0;
    return svg("rect", { x: x(i) + gap, y: box.bottom - tall, width: step - 2 * gap, height: tall, class: kind });
  });
  const specials = [
    { name: "zero", found: data.zeros },
    { name: "NaN", found: data.nan },
  ];
  const start = box.right + 8;
  const special = specials.flatMap(({ name, found }, i) => {
    const left = start + i * SPECIAL_WIDTH;
    const tall = height(found);
    const middle = left + SPECIAL_WIDTH / 2;
    return [
      svg("rect", { x: left + 8, y: box.bottom - tall, width: SPECIAL_WIDTH - 16, height: tall, class: `bar ${name === "NaN" ? "bad" : "zero"}` }),
      svg("text", { x: middle, y: box.bottom + 16, "text-anchor": "middle" }, name),
      svg("text", { x: middle, y: box.bottom - tall - 4, "text-anchor": "middle", class: found > 0 && name === "NaN" ? "warn" : "faint" }, short(found)),
    ];
  });
  const exponents = bins.map((bin) => Math.floor(Math.log2(bin.value)));
  const octaves = wholeTicks(exponents[0] ?? 0, exponents.at(-1) ?? 0, Math.max(2, (box.right - box.left) / 48));
  const places = octaves.map((octave) => exponents.indexOf(octave)).filter((i) => i >= 0);
  const node = canvasOf(
    width,
    box.bottom + 22,
    `${short(data.total)} block scales by ${data.by}`,
    gridY({ ...box, right: width - 8 }, countTicks(most, spacing, (n) => ticks(0, n, 4)), height, short),
    ...bars,
    ...special,
    axisX(box, places, (i) => x(i + 0.5), (i) => `2${superscript(exponents[i]!)}`),
  );

  const inRange: Mark[] = bins.map((_, i) => ({ x: x(i), y: box.top, width: step, height: box.bottom - box.top }));
  const marks = [
    ...inRange,
    ...specials.map((_, i) => ({ x: start + i * SPECIAL_WIDTH, y: box.top, width: SPECIAL_WIDTH, height: box.bottom - box.top })),
  ];
  const name = (bin: ScaleBin) => (data.by === "byte" ? `byte ${hex(bin.code)} = ${exact(bin.value)}` : `exponent ${bin.code}, from ${exact(bin.value)} on`);
  return {
    node,
    table: {
      caption: `Block scales (${data.element}) by ${data.by}.`,
      columns: [
        { name: data.by, kind: "text" },
        { name: data.by === "byte" ? "value" : "from", kind: "number" },
        { name: "scales", kind: "count" },
      ],
      rows: [
        ...data.bins.filter((bin) => bin.count > 0).map((bin) => [data.by === "byte" ? hex(bin.code) : String(bin.code), bin.value, bin.count]),
        ["zero", 0, data.zeros],
        ["NaN", "NaN", data.nan],
      ],
    },
    items: {
      count: marks.length,
      text: (i) => {
        const bin = bins[i];
        if (!bin) {
          const { name, found } = specials[i - bins.length]!;
          return `${name}: ${whole(found)}, ${share(found, data.total)}`;
        }
        return `${name(bin)}: ${whole(bin.count)}, ${share(bin.count, data.total)}`;
      },
      mark: (i) => marks[i]!,
      pick: (at) => {
        const i = marks.findIndex((mark) => at >= mark.x && at < mark.x + mark.width);
        return i < 0 ? null : i;
      },
    },
  };
}

/** What is odd about the scales, in words; nothing where nothing is. */
export function scaleRemarks(data: ScaleCounts): string[] {
  const remarks: string[] = [];
  const only = data.bins.filter((bin) => bin.count > 0);
  if (data.total > 1 && only.length === 1 && only[0]!.count === data.total) {
    const value = data.by === "byte" ? number(only[0]!.value) : null;
    remarks.push(
      value === "1"
        ? "All scales are one: the plane says nothing, and the weights are too large by whatever was lost."
        : value === null
          ? "All scales have the same exponent."
          : `All scales are ${value}.`,
    );
  }
  if (data.nan > 0) remarks.push(`${whole(data.nan)} of ${whole(data.total)} scales are NaN, and so is every weight under them.`);
  if (isCutOff(data)) remarks.push(`${share(data.saturated, data.total)} of the scales are the largest that ${data.element} has: what was larger may have been cut off.`);
  if (data.zeros > 0) remarks.push(`${share(data.zeros, data.total)} of the scales are zero: their weights are zero whatever their codes.`);
  return remarks;
}
