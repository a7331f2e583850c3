// Colour maps: from 0..1 to a colour of a table of 256.

import { rgb } from "./rgb.ts";

export type MapName = "viridis" | "cividis" | "diverging";
export type Theme = "light" | "dark";

/** 256 colours, each red, green, blue. */
export type Lut = Uint8Array;

// Perceptually uniform maps, sampled at equal distances; between samples the change is even enough to be linear.
const VIRIDIS = "440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725";
const CIVIDIS = "00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838";
// For differences and signed numbers zero is the ground of the page, so that what differs stands out.
const DIVERGING = {
  light: "0b3c6f 1f6aa8 5a9bcb a6c9e2 f4f4f2 f0c09c dd8a55 b6561f 7a300a",
  dark: "8fd0ff 55a5e6 2f73b0 1d4367 15171a 5c3416 9c571f d98839 ffc27a",
};

const cache = new Map<string, Lut>();

/** The table of a map; the diverging one has a ground for each theme. */
export function lut(name: MapName, theme: Theme): Lut {
  const key = name === "diverging" ? `${name} ${theme}` : name;
  let table = cache.get(key);
  if (!table) {
    table = spread(name === "viridis" ? VIRIDIS : name === "cividis" ? CIVIDIS : DIVERGING[theme]);
    cache.set(key, table);
  }
  return table;
}

/** Colour `index` (0..255) as CSS writes it. */
export function css(table: Lut, index: number): string {
  const at = 3 * Math.max(0, Math.min(255, Math.round(index)));
  return `rgb(${table[at]},${table[at + 1]},${table[at + 2]})`;
}

function spread(words: string): Lut {
  const stops = words.split(" ").map((word) => rgb(`#${word}`));
  const table = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (stops.length - 1);
    const stop = Math.min(stops.length - 2, Math.floor(place));
    const [from, to] = [stops[stop]!, stops[stop + 1]!];
    for (let c = 0; c < 3; c++) {
      table[3 * i + c] = Math.round(from[c]! + (to[c]! - from[c]!) * (place - stop));
    }
  }
  return table;
}
