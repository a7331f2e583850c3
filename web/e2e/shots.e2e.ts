// Pictures of the frame for the documentation: written with BLOCKSCALE_BLESS=1.

import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { openPage, type PageOptions } from "./support/browser.ts";
import { nvfp4, sparseFile } from "./support/checkpoints.ts";
import { rangeServer } from "./support/range_server.ts";

const folder = fileURLToPath(new URL("../../docs/viewer/", import.meta.url));

const shots: [name: string, options: PageOptions][] = [
  ["start", {}],
  ["start-dark", { colours: "dark" }],
  ["start-narrow", { width: 360, height: 740 }],
];

test.skipIf(process.env.BLOCKSCALE_BLESS !== "1").each(shots)("%s", async (name, options) => {
  const { page, close } = await openPage({ height: 900, ...options });
  await page.getByText("Nothing is uploaded.").waitFor();
  await page.screenshot({ path: `${folder}${name}.png` });
  await close();
});

test.skipIf(process.env.BLOCKSCALE_BLESS !== "1")("problem", async () => {
  const server = await rangeServer({ "model.safetensors": sparseFile(nvfp4("a", 16384, 16384)) }, { ranges: "ignored" });
  const { page, close } = await openPage({ height: 900, expected: /Failed to load resource/ });
  await page.getByLabel("Model on a Hub, or address").fill(`${server.url}model.safetensors`);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("alert").waitFor();
  await page.screenshot({ path: `${folder}problem.png` });
  await close();
  await server.close();
});
