import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { withoutPolicy } from "./dev.plugin.ts";
import { fileList } from "./files.plugin.ts";
import { samples } from "./samples/plugin.ts";

/** The package that `cargo xtask wasm` writes. */
const wasm = process.env.BLOCKSCALE_WASM ?? fileURLToPath(new URL("../target/web/pkg", import.meta.url));

export default defineConfig({
  // The page may lie in any folder of any server.
  base: "./",
  plugins: [samples(), fileList(), withoutPolicy()],
  resolve: { alias: { "blockscale-wasm": `${wasm}/index.js` } },
  server: { fs: { allow: [".", wasm] } },
  worker: { format: "es" },
  build: {
    target: "es2022",
    // The policy of the page allows no `data:` scripts or modules.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { input: ["index.html", "reader.html"] },
  },
});
