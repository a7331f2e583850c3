// Builds the page once for all files of tests, and serves it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import type { TestProject } from "vitest/node";
import { serveFolder } from "./page_server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Where the page is. */
    page: string;
    /** The folder that holds it. */
    folder: string;
  }
}

/** `E2E_PAGE` names a folder with a page that was built before. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = process.env.E2E_PAGE ?? (await built());
  const server = await serveFolder(folder);
  project.provide("page", server.url);
  project.provide("folder", folder);
  return async () => {
    await server.close();
    if (!process.env.E2E_PAGE) rmSync(folder, { recursive: true, force: true });
  };
}

async function built(): Promise<string> {
  const outDir = mkdtempSync(join(tmpdir(), "viewer-page-"));
  // As it is shipped: under the runner's "test" it would not be kept for when there is no network.
  process.env.NODE_ENV = "production";
  await build({ configFile: "vite.config.ts", logLevel: "warn", build: { outDir, emptyOutDir: true } });
  return outDir;
}
