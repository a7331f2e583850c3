// The tabs of a weight, the page of the model, and what is taken away.

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { axe, openPage, type PageOptions } from "./support/browser.ts";

const WEIGHT = "model.layers.1.mlp.down_proj.weight";
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function show(sample: string, hash = "", options: PageOptions = {}): Promise<Page> {
  const opened = await openPage({ ...options, hash: `#src=sample:${sample}${hash}` });
  closing.push(opened.close);
  return opened.page;
}

async function download(page: Page, act: () => Promise<void>): Promise<{ name: string; bytes: Buffer }> {
  const [file] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: file.suggestedFilename(), bytes: await readFile((await file.path())!) };
}

test("the sample in the wrong order is named by its bytes, and read right by one button", async () => {
  const page = await show("wrong-order", `&w=${WEIGHT}`);
  await page.getByText(/The bytes say: .*tiles-128x4/).waitFor();
  const score = () => page.locator(".reading-bar .score strong").innerText().then((text) => Number.parseFloat(text));
  await page.locator(".reading-bar .score strong").waitFor();
  const before = await score();
  await page.getByRole("button", { name: "Read them so" }).click();
  await page.getByText("Not as declared").waitFor();
  await page.waitForFunction((before) => Number.parseFloat(document.querySelector(".reading-bar .score strong")?.textContent ?? "0") > before + 30, before);
});

test("the clean sample is read as it says", async () => {
  const page = await show("clean", `&w=${WEIGHT}`);
  await page.getByText("The bytes themselves agree with the file").waitFor();
});

test("a block is shown byte by byte, and each column is worked out by mouse and key", async () => {
  const page = await show("clean", `&w=${WEIGHT}&tab=blocks&b=139.23`);
  const steps = page.getByRole("list", { name: "Arithmetic" });
  await steps.waitFor();
  const columns = page.locator(".block-table .columns button");
  expect(await columns.count()).toBe(16);
  await columns.nth(5).click();
  await steps.getByText("The element: column 373").waitFor();
  const bytes = await page.locator(".block-table .bytes td").allInnerTexts();
  const nibbles = await page.locator(".block-tables .codes td").allInnerTexts();
  expect(bytes.map((byte) => byte[1]! + byte[0]!).join("")).toBe(nibbles.join(""));
  await page.getByRole("button", { name: "Next block" }).click();
  await page.waitForFunction(() => location.hash.includes("b=139.24"));
  // High nibble first: the same bytes, their halves the other way round.
  await page.getByRole("button", { name: "Block before" }).click();
  await page.getByRole("radio", { name: "high first" }).click();
  await page.getByText("nibble first").first().waitFor();
  const codes = () => page.locator(".block-tables .codes td").allInnerTexts();
  await expect.poll(codes).not.toEqual(nibbles);
  expect((await codes()).join("")).toBe(bytes.join(""));
  expect(await page.locator(".block-table .bytes td").allInnerTexts()).toEqual(bytes);
});

test("codes of a weight are counted, each once", async () => {
  const page = await show("clean", `&w=${WEIGHT}&tab=codes`);
  await page.locator("svg.plot rect.bar").first().waitFor();
  const { bytes } = await download(page, async () => {
    await page.getByText("Save", { exact: true }).click();
    await page.getByRole("button", { name: "JSON" }).click();
  });
  const saved = JSON.parse(bytes.toString()) as { tensor: string; declared: boolean; rows: { weights: number }[] };
  expect(saved.rows.reduce((sum, row) => sum + row.weights, 0)).toBe(512 * 768);
  expect([saved.tensor, saved.declared]).toEqual([WEIGHT, true]);
});

test("a plot is gone over by arrow keys", async () => {
  const page = await show("clean", `&w=${WEIGHT}&tab=codes`);
  await page.locator("svg.plot[tabindex]").focus();
  await page.keyboard.press("End");
  await page.getByText(/^code 7 = 6: /).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.getByText(/^code 6 = 4: /).waitFor();
});

test("the heat map is taken away as PNG, SVG, CSV and JSON", async () => {
  const page = await show("clean", `&w=${WEIGHT}`);
  await page.waitForFunction(() => document.querySelector(".map-panel") && !document.querySelector(".map-panel.loading"));
  const take = async (ending: string) =>
    download(page, async () => {
      await page.locator(".map-panel .menu summary", { hasText: "Save" }).click();
      await page.locator(".map-panel").getByRole("button", { name: ending }).click();
    });
  const png = await take("PNG");
  expect(png.name).toBe(`${WEIGHT}-scales.png`);
  expect([...png.bytes.subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47]);
  expect(png.bytes.readUInt32BE(16)).toBeGreaterThan(800);
  const svg = (await take("SVG")).bytes.toString();
  expect(svg).toMatch(/^<svg[^>]* xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  expect(svg).toContain("data:image/png;base64,");
  expect(svg).not.toContain("var(--");
  const csv = (await take("CSV")).bytes.toString().trim().split("\r\n");
  expect(csv[0]).toBe("row,block,least,most");
  const json = JSON.parse((await take("JSON")).bytes.toString()) as { tensor: string; read: { layout: string }; rows: { row: number }[] };
  expect([json.tensor, json.read.layout, json.rows.length]).toEqual([WEIGHT, "linear", csv.length - 1]);
});

test("a weight is compared with itself read in another way, with another weight, and by difference", async () => {
  const page = await show("wrong-order", `&w=${WEIGHT}&tab=compare&lay=tiles-128x4`);
  await page.getByText("Reference: the same bytes, read as declared").waitFor();
  expect(await page.locator(".compare .heat canvas").count()).toBe(2);
  const first = page.locator(".compare .heat canvas").first();
  await first.hover({ position: { x: 100, y: 100 } });
  await page.getByText(/reference .*, this .*, difference /).waitFor();
  await page.getByRole("radio", { name: "Difference" }).click();
  await page.getByText("This less the reference").waitFor();
  expect(await page.locator(".compare .heat canvas").count()).toBe(1);
  await page.getByRole("radio", { name: "Side by side" }).click();
  await page.getByRole("combobox", { name: "compare with" }).fill(WEIGHT);
  await page.getByRole("combobox", { name: "compare with" }).press("Enter");
  await page.waitForFunction(() => location.hash.includes("stat="));
});

test("a weight beside itself is equal", async () => {
  const page = await show("clean", `&w=${WEIGHT}&tab=compare&stat=%3D${WEIGHT}`);
  await page.getByText("equal, every weight").waitFor();
});

test("weights of plain numbers have no scales, but a picture, a histogram and statistics", async () => {
  const page = await show("clean", "&w=model.norm.weight");
  await page.getByRole("heading", { name: "Histogram" }).waitFor();
  await page.locator(".heat canvas").waitFor();
  expect(await page.locator("[role=tab]").allInnerTexts()).toEqual(["Weights", "Compare", "Findings"]);
  await page.getByText("root mean square").waitFor();
});

test("the page of the model shows bytes, layers, findings and leads to a weight", async () => {
  const page = await show("wrong-order");
  await page.getByRole("heading", { name: "By layer and module" }).waitFor();
  expect(await axe(page)).toEqual([]);
  await page.getByLabel("Statistic").selectOption("scaleMedianLog2");
  await page.getByRole("button", { name: "Measure all weights" }).click();
  await page.waitForFunction(() => !document.querySelector(".model-page")?.textContent?.includes("Stop,"));
  await page.waitForFunction(() => document.querySelectorAll("svg .cell:not(.unknown)").length >= 3);
  const cells = page.locator("svg.opens .cell");
  await cells.first().click();
  await page.waitForFunction(() => location.hash.includes("w=model."));
  await page.getByRole("heading", { level: 1, name: /model\.layers/ }).waitFor();
});
