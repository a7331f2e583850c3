// The addresses that reading a source needs.

import type { SourceRef } from "./ref.ts";

/** Where Hugging Face's Hub keeps the bytes that its addresses lead to. */
const HUB_STORES = ["https://*.hf.co", "https://*.huggingface.co"];

/** The addresses that the reader of a source may connect to, beside the page's own. */
export function addressesOf(source: SourceRef): string[] {
  switch (source.kind) {
    case "url":
      return [new URL(source.url).origin];
    case "hub":
      return [new URL(source.endpoint).origin, ...HUB_STORES];
    default:
      return [];
  }
}
