// The list of tensors, by mouse, keys and screen reader.

import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { axe, openPage, type PageOptions } from "./support/browser.ts";
import { type Entry, nvfp4, sparseFile } from "./support/checkpoints.ts";
import { rangeServer } from "./support/range_server.ts";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function show(entries: readonly Entry[], options: PageOptions = {}, hash = ""): Promise<Page> {
  const server = await rangeServer({ "model.safetensors": sparseFile(entries) }, { cors: "with-headers" });
  closing.push(server.close);
  const opened = await openPage({ expected: /Failed to load resource/, ...options, hash: `#src=url:${server.url}model.safetensors${hash}` });
  closing.push(opened.close);
  await opened.page.locator(".tree").locator("[role=treeitem]").first().waitFor({ state: "attached" });
  return opened.page;
}

const LAYERS: Entry[] = Array.from({ length: 20 }, (_, layer) => [
  ...nvfp4(`layers.${layer}.wo`, 64, 64 * (layer + 1)),
  { name: `layers.${layer}.norm.weight`, dtype: "BF16" as const, shape: [64] },
]).flat();

function shown(page: Page): Promise<string[]> {
  return page.getByRole("treeitem").locator(".label").allTextContents();
}

test("modules open and close by keys, and names are gone to by typing", async () => {
  const page = await show(LAYERS);
  await page.getByRole("tree").focus();
  expect(await shown(page)).toHaveLength(1);
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => shown(page)).toEqual(["layers", ...Array.from({ length: 20 }, (_, layer) => String(layer))]);
  await page.keyboard.type("10");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate(() => location.hash)).toMatch(/w=layers\.10\.(wo|norm)\.weight$/);
  await page.getByRole("tree").focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect.poll(async () => (await shown(page)).length).toBe(21);
  expect(await page.getByRole("treeitem", { name: /^10 / }).getAttribute("aria-expanded")).toBe("false");
  expect(await page.getByRole("treeitem", { name: /^10 / }).getAttribute("aria-setsize")).toBe("20");
});

test("words, patterns and formats narrow the list, and the link keeps them", async () => {
  const page = await show(LAYERS);
  await page.keyboard.press("/");
  await page.keyboard.type("layers.1.*");
  await expect.poll(async () => (await shown(page)).sort()).toEqual(["1", "layers", "norm", "wo"]);
  await page.getByRole("button", { name: "NVFP4", exact: true }).click();
  await expect.poll(() => page.locator(".list-status").textContent()).toBe("1 of 40 weights");
  expect(await page.evaluate(() => location.hash)).toMatch(/q=layers\.1\.\*&fmt=NVFP4$/);
  await page.reload();
  await expect.poll(() => page.locator(".list-status").textContent()).toBe("1 of 40 weights");
});

test("by size the largest comes first, with its size", async () => {
  const page = await show(LAYERS, {}, "&sort=size");
  const first = page.getByRole("treeitem").first();
  expect(await first.locator(".label").textContent()).toBe("layers.19.wo");
  expect(await first.locator(".fact").textContent()).toBe("45 KiB");
});

test("outliers are measured on demand, and the worst comes first", async () => {
  const spiked = nvfp4("layers.5.wq", 16, 256, { scales: (start, end) => Uint8Array.from({ length: end - start }, (_, at) => (start + at === 77 ? 0x7e : 0x30)) });
  const page = await show([...LAYERS, ...spiked], {}, "&sort=outliers&q=layers.5");
  await page.getByRole("button", { name: "Measure" }).click();
  await expect.poll(() => page.getByRole("treeitem").first().textContent()).toMatch(/layers\.5\.wq.*× rms/);
});

test("the list is clean for axe, narrow and dark as well", async () => {
  const page = await show(LAYERS, { width: 320, height: 640, colours: "dark" }, "&w=layers.3.wo.weight");
  await page.getByRole("button", { name: "Tensors", exact: true }).click();
  await page.getByRole("treeitem", { name: /^wo/, selected: true }).waitFor();
  expect(await axe(page, ".list")).toEqual([]);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide).toBeLessThanOrEqual(320);
});

test("a hundred thousand tensors are listed, searched and scrolled without a long wait", async () => {
  const entries: Entry[] = Array.from({ length: 100_000 }, (_, at) => ({ name: `layers.${Math.floor(at / 1640)}.experts.${at % 1640}.w.weight`, dtype: "BF16", shape: [2, 2] }));
  const page = await show(entries);
  await page.locator(".list-status", { hasText: "100,000 weights" }).waitFor();
  const rows = await page.locator(".virtual-row").count();
  expect(rows).toBeLessThan(100);
  const tasks = await page.evaluate(async () => {
    const found: number[] = [];
    new PerformanceObserver((list) => found.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    const filter = document.querySelector<HTMLInputElement>(".filter");
    for (const text of ["1", "12", "12.", "experts.1639", "layers.60.*"]) {
      if (filter) filter.value = text;
      filter?.dispatchEvent(new Event("input"));
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    const tree = document.querySelector(".tree");
    for (let at = 0; at < 20; at += 1) {
      tree?.scrollBy(0, 997);
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    return found;
  });
  console.log(`long tasks in a list of 100,000: ${tasks.map((ms) => Math.round(ms)).join(", ") || "none"}`);
  await expect.poll(() => page.locator(".list-status").textContent()).toMatch(/^\d[\d,]* of 100,000 weights/);
});

test("against another checkpoint the weight that differs most comes first", async () => {
  const { page, close } = await openPage({ hash: "#src=sample:clean&with=sample:ones&sort=sqnr" });
  closing.push(close);
  await page.getByRole("button", { name: "Measure" }).click();
  const facts = page.locator(".tree .fact");
  await expect.poll(() => facts.allTextContents()).toEqual([expect.stringMatching(/^-?\d+\.\d dB$/), "equal", "equal", "equal"]);
  expect(await page.getByRole("treeitem").first().textContent()).toContain("model.layers.1.mlp.down_proj");
});

test("a local checkpoint is surveyed on its own, and a plane of ones is marked", async () => {
  const { page, close } = await openPage({ hash: "#src=sample:ones" });
  closing.push(close);
  const faulty = page.getByRole("treeitem", { name: /1\.mlp\.down_proj/ });
  await expect.poll(() => faulty.locator(".mark").count()).toBe(1);
});
