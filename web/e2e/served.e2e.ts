// The page as `blockscale view` serves it.

import { afterEach, expect, inject, test } from "vitest";
import { openPage } from "./support/browser.ts";
import { nvfp4, sparseFile } from "./support/checkpoints.ts";
import { type ViewCheckpoint, viewServer } from "./support/view_server.ts";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function checkpoint(id: string, role: ViewCheckpoint["role"], name: string): ViewCheckpoint {
  return { id, role, name, files: { "model.safetensors": sparseFile(nvfp4("layers.0.wo", 64, 64)) } };
}

test("the checkpoint that is served opens at once, with its reference", async () => {
  const server = await viewServer(inject("folder"), [checkpoint("0", "checkpoint", "mine"), checkpoint("1", "reference", "original")]);
  closing.push(server.close);
  const { page, close } = await openPage({ url: server.url });
  closing.push(close);
  await page.getByRole("treeitem", { name: /wo/ }).waitFor();
  await page.getByRole("banner").getByText("mine").waitFor();
  await page.getByRole("banner").getByText("original").waitFor();
  expect(await page.evaluate(() => location.hash)).toBe("#src=served:0&with=served:1");
});

test("under a server other addresses are not offered, files and samples are", async () => {
  const server = await viewServer(inject("folder"), [checkpoint("0", "checkpoint", "mine")]);
  closing.push(server.close);
  const { page, close } = await openPage({ url: server.url });
  closing.push(close);
  await page.getByRole("treeitem", { name: /wo/ }).waitFor();
  await page.getByRole("link", { name: "blockscale" }).click();
  await page.getByText("reads from no other host").waitFor();
  expect(await page.getByLabel("Model on a Hub, or address").count()).toBe(0);
  await page.getByRole("button", { name: "mine" }).waitFor();
  await page.getByRole("button", { name: /^Clean/ }).click();
  await page.getByRole("treeitem", { name: /down_proj/ }).first().waitFor();
});

test("when the server ends what was read stays, and the page says so", async () => {
  const files = { "model.safetensors": sparseFile([...nvfp4("layers.0.wo", 64, 64), ...nvfp4("layers.1.wo", 64, 64)]) };
  const server = await viewServer(inject("folder"), [{ id: "0", role: "checkpoint", name: "mine", files }]);
  const { page, close } = await openPage({ url: server.url, expected: /Failed to load resource|net::ERR/ });
  closing.push(close);
  await page.getByRole("treeitem", { name: /^0/ }).click();
  await page.locator("canvas").first().waitFor();
  await server.close();
  await page.getByRole("treeitem", { name: /^1/ }).click();
  await expect.poll(() => page.getByRole("alert").first().textContent()).toMatch(/does not answer|was cut/);
  await page.getByRole("treeitem", { name: /^0/ }).click();
  await page.locator("canvas").first().waitFor();
});
