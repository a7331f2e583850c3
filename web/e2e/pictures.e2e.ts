// The heat map: what it draws, where, and what is read out of it.

import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { axe, openPage, type PageOptions } from "./support/browser.ts";
import { type Entry, nvfp4, sparseFile } from "./support/checkpoints.ts";
import { contentOf, rangeServer } from "./support/range_server.ts";

const closing: (() => Promise<void>)[] = [];
const [ROWS, COLS] = [4096, 4096];
const BLOCKS = COLS / 16;
/** The one scale that is far larger than all others. */
const PLANTED = { row: 2717, block: 201 };

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Opens a weight `w` of these tensors. */
async function show(entries: Entry[], hash = "", options: PageOptions = {}): Promise<Page> {
  const file = sparseFile(entries);
  const server = await rangeServer({ "model.safetensors": contentOf(file.read(0, file.size)) }, { cors: "with-headers" });
  const opened = await openPage({ ...options, hash: `#src=url:${server.url}model.safetensors&w=w.weight${hash}` });
  closing.push(() => server.close(), () => opened.close());
  await opened.page.locator(".heat canvas").first().waitFor();
  await settled(opened.page);
  return opened.page;
}

/** Waits until no tile is missing. */
async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => !document.querySelector(".map-panel.loading"));
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Colour of a number's place in the picture, counted in the plane. */
async function colourAt(page: Page, row: number, col: number, plane: { rows: number; cols: number }): Promise<number[]> {
  return page.evaluate(
    ([y, x]) => {
      const canvas = document.querySelector<HTMLCanvasElement>(".heat canvas")!;
      const at = [Math.floor(x! * canvas.width), Math.floor(y! * canvas.height)] as const;
      return [...canvas.getContext("2d")!.getImageData(at[0], at[1], 1, 1).data];
    },
    [(row + 0.5) / plane.rows, (col + 0.5) / plane.cols] as const,
  );
}

/** All colours of the picture, by how many pixels have them. */
async function colours(page: Page): Promise<Map<string, number>> {
  const counts = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>(".heat canvas")!;
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    const found: Record<string, number> = {};
    for (let i = 0; i < data.length; i += 4) {
      const key = `${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}`;
      found[key] = (found[key] ?? 0) + 1;
    }
    return Object.entries(found);
  });
  return new Map(counts);
}

const ACCENT = { light: "194,65,12,255", dark: "255,138,76,255" };

function planted(): Entry[] {
  const scales = new Uint8Array(ROWS * BLOCKS).map((_, i) => 0x28 + ((Math.floor(i / BLOCKS) >> 6) + (i % BLOCKS >> 4)) % 4);
  scales[PLANTED.row * BLOCKS + PLANTED.block] = 0x7e;
  return nvfp4("w", ROWS, COLS, { scales, global: 0.5 });
}

/** Without lines between tiles: only the numbers. */
async function withoutLines(page: Page): Promise<void> {
  await page.locator(".heat canvas").focus();
  await page.keyboard.press("g");
  await settled(page);
}

test("one bad block in a million is seen in the whole plane, in its place", async () => {
  for (const options of [{ scale: 1, colours: "light" }, { scale: 2, colours: "dark" }] as const) {
    const page = await show(planted(), "", options);
    const accent = ACCENT[options.colours];
    expect((await colourAt(page, PLANTED.row, PLANTED.block, { rows: ROWS, cols: BLOCKS })).join(",")).toBe(accent);
    const where = await page.evaluate((accent) => {
      const canvas = document.querySelector<HTMLCanvasElement>(".heat canvas")!;
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      const places: [number, number][] = [];
      for (let i = 0; i < data.length; i += 4) {
        if (`${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}` === accent) places.push([((i / 4) % canvas.width) / canvas.width, Math.floor(i / 4 / canvas.width) / canvas.height]);
      }
      return places;
    }, accent);
    expect(where.length).toBeGreaterThan(8);
    for (const [x, y] of where) {
      expect(Math.abs(x - PLANTED.block / BLOCKS)).toBeLessThan(0.02);
      expect(Math.abs(y - PLANTED.row / ROWS)).toBeLessThan(0.02);
    }
    await page.getByText("1 scale lies far beyond").waitFor();
  }
});

test("the outlier is gone to by key, read out and opened in numbers", async () => {
  const page = await show(planted());
  await page.locator(".heat canvas").focus();
  await page.keyboard.press("o");
  const readOut = page.getByRole("region", { name: "Read-out" });
  // 448 times one half.
  await readOut.getByText("224", { exact: true }).waitFor();
  expect(await readOut.innerText()).toMatch(/row\s+2,717/);
  expect(await readOut.innerText()).toMatch(/block\s+201/);
  expect(await readOut.innerText()).toMatch(/byte\s+7E/);
  await page.waitForFunction(() => location.hash.includes("b=2717.201"));
  await page.keyboard.press("Enter");
  await page.getByRole("list", { name: "Arithmetic" }).waitFor();
  expect(await page.getByRole("list", { name: "Arithmetic" }).innerText()).toContain("2⁸ × (1 + 6/8)");
  expect(await page.evaluate(() => location.hash)).toContain("tab=blocks");
});

test("a plane of ones is flat", async () => {
  const page = await show(nvfp4("w", 512, 512), "");
  await withoutLines(page);
  expect((await colours(page)).size).toBe(1);
  await page.getByText("All scales are one").waitFor();
});

test("scales in another order look different, and reading them so makes them alike", async () => {
  const plane = (tiled: boolean): Entry["bytes"] => {
    const [rows, cols] = [256, 32];
    const linear = new Uint8Array(rows * cols).map((_, i) => 0x30 + ((Math.floor(i / cols) * 7) % 13) + (((i % cols) * 5) % 11));
    if (!tiled) return linear;
    const bytes = new Uint8Array(rows * cols);
    linear.forEach((byte, i) => {
      const [row, col] = [Math.floor(i / cols), i % cols];
      const tile = Math.floor(row / 128) * (cols / 4) + Math.floor(col / 4);
      bytes[tile * 512 + (row % 32) * 16 + Math.floor((row % 128) / 32) * 4 + (col % 4)] = byte;
    });
    return bytes;
  };
  const pixels = async (page: Page) => {
    await withoutLines(page);
    return page.evaluate(() => document.querySelector<HTMLCanvasElement>(".heat canvas")!.toDataURL());
  };
  const right = await pixels(await show(nvfp4("w", 256, 512, { scales: plane(false) })));
  const page = await show(nvfp4("w", 256, 512, { scales: plane(true) }));
  const wrong = await pixels(page);
  expect(wrong === right).toBe(false);
  await page.getByRole("radio", { name: "128×4 tiles" }).click();
  await page.getByText("Not as declared").waitFor();
  await page.waitForFunction(() => location.hash.includes("lay=tiles-128x4"));
  await page.waitForFunction((right) => document.querySelector<HTMLCanvasElement>(".heat canvas")?.toDataURL() === right, right);
  await page.getByRole("button", { name: "Read as declared" }).click();
  await page.waitForFunction((wrong) => document.querySelector<HTMLCanvasElement>(".heat canvas")?.toDataURL() === wrong, wrong);
});

test("NaN among the scales has a colour of its own and is counted in words", async () => {
  const scales = new Uint8Array(512 * 32).fill(0x30);
  scales[100 * 32 + 7] = 0x7f;
  const page = await show(nvfp4("w", 512, 512, { scales }));
  expect((await colourAt(page, 100, 7, { rows: 512, cols: 32 })).join(",")).toBe("196,0,122,255");
  await page.getByText(/1 of 16,384 scales are NaN/).waitFor();
});

test("keys move, jump, zoom and fit; the wheel zooms and the page keeps what was found in its address", async () => {
  const page = await show(planted());
  const canvas = page.locator(".heat canvas");
  await canvas.focus();
  const readOut = page.getByRole("region", { name: "Read-out" });
  await page.keyboard.press("Home");
  await page.keyboard.press("PageUp");
  await page.keyboard.press("PageUp");
  await page.waitForFunction(() => /b=0\.0/.test(location.hash));
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowRight");
  await page.waitForFunction(() => location.hash.includes("b=128.8"));
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => location.hash.includes("b=128.7"));
  for (let i = 0; i < 12; i++) await page.keyboard.press("+");
  await settled(page);
  await page.getByText("Each cell is one scale.").waitFor();
  await page.waitForFunction(() => location.hash.includes("view="));
  const hash = await page.evaluate(() => location.hash);
  await page.keyboard.press("0");
  await page.waitForFunction(() => !location.hash.includes("view="));
  const box = (await canvas.boundingBox())!;
  await page.mouse.move(box.x + 200, box.y + 100);
  await page.mouse.wheel(0, -600);
  await page.waitForFunction(() => location.hash.includes("view="));
  await page.keyboard.press("l");
  expect(await page.getByRole("radiogroup", { name: "Spacing of colours" }).getByRole("radio", { name: "Linear" }).getAttribute("aria-checked")).toBe("true");
  await page.keyboard.press("l");
  // The address opens the same picture.
  await page.evaluate((hash) => ((location.hash = hash), location.reload()), hash);
  await page.getByText("Each cell is one scale.").waitFor();
  await readOut.getByText("128", { exact: true }).waitFor();
});

test("a drag pans, and a click holds the crosshair", async () => {
  const page = await show(planted());
  const canvas = page.locator(".heat canvas");
  await canvas.focus();
  for (let i = 0; i < 5; i++) await page.keyboard.press("+");
  await page.waitForFunction(() => location.hash.includes("view="));
  const before = await page.evaluate(() => new URLSearchParams(location.hash).get("view"));
  const box = (await canvas.boundingBox())!;
  await page.mouse.move(box.x + 300, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y + 100, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction((before) => new URLSearchParams(location.hash).get("view") !== before, before);
  await page.mouse.click(box.x + 250, box.y + 150);
  await page.waitForFunction(() => location.hash.includes("b="));
  const held = await page.getByRole("region", { name: "Read-out" }).innerText();
  await page.mouse.move(box.x + 50, box.y + 50);
  await settled(page);
  expect(await page.getByRole("region", { name: "Read-out" }).innerText()).toContain(held.split("\n")[1]!);
});

test("the table behind the picture has the numbers that are drawn", async () => {
  const page = await show(planted(), `&b=${PLANTED.row}.${PLANTED.block}`);
  await page.locator(".heat canvas").focus();
  for (let i = 0; i < 14; i++) await page.keyboard.press("+");
  await settled(page);
  await page.locator(".map-panel .behind > summary").click();
  await page.locator(".map-panel .behind table").waitFor();
  const rows = await page.locator(".map-panel .behind tbody tr").allInnerTexts();
  expect(rows).toContain("2,717\t201\t224");
});

test("the page of a weight is accessible, tab by tab, light and dark, wide and narrow", async () => {
  const wide = { colours: "light", tabs: ["scales", "weights", "codes", "blocks", "compare", "findings"] } as const;
  const narrow = { colours: "dark", width: 360, height: 740, tabs: ["scales", "blocks"] } as const;
  for (const options of [wide, narrow]) {
    const page = await show(nvfp4("w", 512, 512), "", options);
    for (const tab of options.tabs) {
      await page.locator(`[data-tab=${tab}]`).click();
      await page.waitForTimeout(300);
      expect(await axe(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(options.colours === "dark" ? 360 : 1280);
    }
  }
});
