// Pictures of the pages of a weight and of the model for the documentation: written with BLOCKSCALE_BLESS=1.

import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { openPage } from "./support/browser.ts";

const folder = fileURLToPath(new URL("../../docs/viewer/", import.meta.url));
const WEIGHT = "model.layers.1.mlp.down_proj.weight";

const shots: [name: string, hash: string][] = [
  ["scales", `#src=sample:clean&w=${WEIGHT}&b=200.36`],
  ["wrong-order", `#src=sample:wrong-order&w=${WEIGHT}`],
  ["block", `#src=sample:clean&w=${WEIGHT}&tab=blocks&b=139.23`],
  ["compare", `#src=sample:wrong-order&w=${WEIGHT}&tab=compare&lay=tiles-128x4`],
];

test.skipIf(process.env.BLOCKSCALE_BLESS !== "1").each(shots)("%s", async (name, hash) => {
  const { page, close } = await openPage({ width: 1120, height: 760, hash });
  await page.getByRole("heading", { level: 1 }).waitFor();
  // The verdict of the bytes comes last.
  await page.locator(".verdict:not(:empty)").waitFor();
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${folder}${name}.png` });
  await close();
});
