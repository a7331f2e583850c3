// Files that a person takes away.

import { h } from "../dom.ts";

/** Offers bytes or text as a file. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has taken the address by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A name that every file system takes: `layers.3.wo_a-scales.csv`. */
export function fileName(parts: readonly string[], ending: string): string {
  const words = parts.map((part) => part.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "")).filter((part) => part !== "");
  return `${words.join("-").slice(0, 120) || "picture"}.${ending}`;
}
