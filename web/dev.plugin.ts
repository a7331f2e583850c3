// While the page is worked on it is served with scripts and styles of the tool, which its policy forbids.

import type { Plugin } from "vite";

const POLICY = /<meta\s+http-equiv="Content-Security-Policy"[^>]*>/;

export function withoutPolicy(): Plugin {
  return {
    name: "without-policy",
    apply: "serve",
    transformIndexHtml: (html) => html.replace(POLICY, ""),
  };
}
