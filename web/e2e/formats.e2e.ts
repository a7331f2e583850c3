// Every tab of weights in other formats than the samples', as other tools wrote them.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { drop, openPage } from "./support/browser.ts";
import { contentOf, rangeServer } from "./support/range_server.ts";

const data = fileURLToPath(new URL("../../tests/data/", import.meta.url));
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Opens one weight of a folder of tests/data. */
async function show(folder: string, file: string, weight: string) {
  const names = readdirSync(data + folder).filter((name) => /\.(safetensors|json|gguf)$/.test(name));
  const server = await rangeServer(Object.fromEntries(names.map((name) => [name, contentOf(readFileSync(`${data}${folder}/${name}`))])), { cors: "with-headers" });
  const opened = await openPage({ hash: `#src=url:${server.url}${file}&w=${weight}`, expected: /404/ });
  closing.push(() => server.close(), () => opened.close());
  await opened.page.getByRole("heading", { level: 1, name: weight }).waitFor();
  return opened.page;
}

const INDEX = "model.safetensors.index.json";

test.each([
  { folder: "checkpoints/ct-fp8-block-llama", file: INDEX, weight: "model.layers.0.mlp.down_proj.weight", format: "E4M3 128x128, BF16 scale", codes: 256, across: 16 },
  { folder: "checkpoints/ct-mxfp8-llama", file: INDEX, weight: "model.layers.0.mlp.down_proj.weight", format: "MXFP8 E4M3", codes: 256, across: 16 },
  { folder: "checkpoints/gptoss-mxfp4", file: INDEX, weight: "model.layers.0.mlp.experts.down_proj", format: "MXFP4", codes: 16, across: 16 },
])("$format is shown in scales, weights, codes and blocks", async ({ folder, file, weight, format, codes, across }) => {
  const page = await show(folder, file, weight);
  await page.getByText(format, { exact: true }).first().waitFor();
  await page.locator(".map-panel").waitFor();
  await page.locator("[data-tab=weights]").click();
  await page.getByText("root mean square").waitFor();
  await page.locator("[data-tab=codes]").click();
  await page.locator(codes === 256 ? "svg rect.cell" : "svg rect.bar").first().waitFor();
  expect(await page.locator(codes === 256 ? "svg rect.cell" : "svg rect.bar").count()).toBe(codes);
  await page.locator("[data-tab=blocks]").click();
  await page.getByRole("list", { name: "Arithmetic" }).waitFor();
  expect(await page.locator(".block-table").first().locator(".columns button").count()).toBe(across);
  await page.getByRole("heading", { name: "How this format works" }).waitFor();
});

test("integers in groups have scales, and each is worked out from code and zero point", async () => {
  const opened = await openPage();
  closing.push(opened.close);
  const { page } = opened;
  // A folder, as the config says what the integers are.
  await drop(page, `${data}checkpoints/autoawq`);
  await page.getByRole("treeitem", { name: /down_proj/ }).first().click();
  await page.locator(".map-panel").waitFor();
  expect(await page.locator("[role=tab]").allInnerTexts()).toEqual(["Scales", "Weights", "Blocks", "Compare", "Findings"]);
  await page.locator("[data-tab=blocks]").click();
  await page.getByRole("list", { name: "Arithmetic" }).getByText("the zero point").waitFor();
});

test("each matrix of a stack is seen by itself", async () => {
  const page = await show("checkpoints/gptoss-mxfp4", INDEX, "model.layers.0.mlp.experts.down_proj");
  await page.locator(".map-panel").waitFor();
  const picture = () => page.evaluate(() => document.querySelector<HTMLCanvasElement>(".heat canvas")?.toDataURL());
  await page.waitForFunction(() => !document.querySelector(".map-panel.loading"));
  const first = await picture();
  await page.getByRole("button", { name: "Next matrix" }).click();
  await page.waitForFunction(() => location.hash.includes("m=1"));
  await expect.poll(picture).not.toBe(first);
  expect(await page.getByLabel("matrix", { exact: true }).inputValue()).toBe("1");
});
