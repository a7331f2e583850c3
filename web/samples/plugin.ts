// The samples as files of the page: made when it is built or served, so that none lie in the repository.

import type { Plugin } from "vite";
import { SAMPLES } from "../src/sources/ref.ts";
import { FAULTY, sampleFile, samplePlanes } from "./model.ts";
import { thumbnail } from "./thumbnail.ts";

const WIDTH = 48;
const HEIGHT = 32;

/** The files by their path below the page. */
export function sampleFiles(): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const sample of SAMPLES) {
    files.set(`samples/${sample}.safetensors`, sampleFile(sample));
    const shown = samplePlanes(sample).find(({ name }) => name === FAULTY);
    if (shown) files.set(`samples/${sample}.png`, thumbnail(shown.plane, WIDTH, HEIGHT));
  }
  return files;
}

export function samples(): Plugin {
  return {
    name: "samples",
    configureServer(server) {
      const files = sampleFiles();
      server.middlewares.use((request, response, next) => {
        const found = files.get((request.url ?? "").replace(/^\//, "").replace(/\?.*$/, ""));
        if (found) response.end(found);
        else next();
      });
    },
    generateBundle() {
      for (const [fileName, source] of sampleFiles()) this.emitFile({ type: "asset", fileName, source });
    },
  };
}
