import { mergeConfig } from "vitest/config";
import base from "../vite.config.ts";

// Everything runs in one process, one file after another: they share the browser and the page that is built.
export default mergeConfig(base, {
  test: {
    include: ["e2e/**/*.e2e.ts"],
    environment: "node",
    globalSetup: ["e2e/support/build.ts"],
    pool: "forks",
    fileParallelism: false,
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
