// Colours of the page as pictures need them.

import type { Theme } from "./maps.ts";
import { rgb } from "./rgb.ts";

/** The value of one of the page's variables. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The theme that the page is in, by the lightness of its ground. */
export function theme(): Theme {
  const [red, green, blue] = rgb(token("--bg"));
  return red * 0.3 + green * 0.59 + blue * 0.11 < 128 ? "dark" : "light";
}
