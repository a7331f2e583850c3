// The list of the page's files, for the worker that keeps them.

import type { Plugin } from "vite";

export function fileList(): Plugin {
  return {
    name: "file-list",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const files = Object.keys(bundle).filter((file) => !file.endsWith(".map"));
        this.emitFile({ type: "asset", fileName: "files.json", source: JSON.stringify([...files, "favicon.svg"]) });
      },
    },
  };
}
