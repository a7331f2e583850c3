// What is around the pictures: links, history, themes, cancelling, being offline.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { axe, drop, openPage, peakMemory } from "./support/browser.ts";
import { folderWith, nvfp4, sparseFile, writeSparse } from "./support/checkpoints.ts";
import { rangeServer } from "./support/range_server.ts";

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test("back goes to what was shown before, and a link opens the same", async () => {
  const { page, close } = await openPage({ hash: "#src=sample:clean" });
  closing.push(close);
  await page.getByRole("treeitem", { name: /o_proj/ }).first().click();
  await page.getByRole("treeitem", { name: /o_proj/, selected: true }).waitFor();
  const link = page.url();
  await page.goBack();
  await expect.poll(() => page.getByRole("treeitem", { selected: true }).count()).toBe(0);
  await page.goBack().catch(() => undefined);
  const again = await openPage({ hash: new URL(link).hash });
  closing.push(again.close);
  await again.page.getByRole("treeitem", { name: /o_proj/, selected: true }).waitFor();
});

test("colours follow the system, and the switch", async () => {
  const { page, close } = await openPage({ colours: "dark" });
  closing.push(close);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.getByRole("button", { name: "Colours: as the system" }).click();
  expect(await ground()).not.toBe(dark);
  await page.getByRole("button", { name: "Colours: light" }).click();
  expect(await ground()).toBe(dark);
  await page.reload();
  await page.getByRole("button", { name: "Colours: dark" }).waitFor();
  expect(await axe(page)).toEqual([]);
});

test("opening that takes long says how far it is and can be cancelled", async () => {
  const server = await rangeServer({ "model.safetensors": sparseFile(nvfp4("a", 64, 64)) }, { delayMs: 3000, cors: "with-headers" });
  closing.push(server.close);
  const { page, close } = await openPage();
  closing.push(close);
  await page.getByLabel("Model on a Hub, or address").fill(`${server.url}model.safetensors`);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("heading", { name: /^Opening/ }).waitFor();
  await page.locator(".opening").getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Nothing is uploaded.").waitFor();
});

test("keys have a help, and the start page fits 320 pixels", async () => {
  const { page, close } = await openPage({ width: 320, height: 640 });
  closing.push(close);
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  expect(await axe(page)).toEqual([]);
});

test("a link that names nothing is explained", async () => {
  for (const hash of ["#src=nothing:here", "#src=sample:clean&w=no.such.tensor"]) {
    const { page, close } = await openPage({ hash });
    await expect.poll(() => page.getByRole("alert").textContent()).toMatch(/names no source|has no tensor/);
    await close();
  }
});

test("the page opens again without a network", async () => {
  const { page, close } = await openPage();
  closing.push(close);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.context().setOffline(true);
  await page.reload();
  await page.getByRole("button", { name: /^Clean/ }).click();
  await page.getByRole("treeitem", { name: /down_proj/ }).first().waitFor();
  await page.getByText("offline", { exact: true }).waitFor();
});

test("a tensor of 64 Mi elements is seen soon after its file is dropped", async () => {
  const folder = folderWith({});
  closing.push(() => rmSync(folder, { recursive: true }));
  const scales = (start: number, end: number) => Uint8Array.from({ length: end - start }, (_, at) => 0x30 + (((start + at) >> 13) & 7));
  const file = sparseFile(nvfp4("wo", 8192, 8192, { scales }));
  writeSparse(join(folder, "big.safetensors"), file, [[0, file.header.length], [file.size - (5 << 20), file.size]]);
  const { page, close } = await openPage({ hash: "#src=files:big.safetensors&w=wo.weight" });
  closing.push(close);
  await page.getByRole("alert").waitFor();
  await page.evaluate(() => {
    const state = { tasks: [] as number[], dropped: 0 };
    (globalThis as { timing?: typeof state }).timing = state;
    new PerformanceObserver((list) => state.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    document.addEventListener("drop", () => (state.dropped = performance.now()), { capture: true });
  });
  await drop(page, join(folder, "big.safetensors"));
  const seen = await page.evaluate(async () => {
    const { timing } = globalThis as unknown as { timing: { tasks: number[]; dropped: number } };
    const painted = () => {
      const canvas = document.querySelector("canvas");
      const context = canvas?.getContext("2d");
      if (!canvas || !context || canvas.width === 0) return false;
      const { data } = context.getImageData(canvas.width >> 1, 0, 1, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size > 1;
    };
    while (!painted()) await new Promise((resolve) => requestAnimationFrame(resolve));
    return { ms: performance.now() - timing.dropped, tasks: timing.tasks };
  });
  console.log(`64 Mi elements: ${Math.round(seen.ms)} ms from drop to picture; long tasks ${seen.tasks.map((ms) => Math.round(ms)).join(", ") || "none"}; ${Math.round((await peakMemory()) / 2 ** 20)} MiB`);
});
