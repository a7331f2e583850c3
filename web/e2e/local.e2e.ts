// Files and folders of this machine.

import { join } from "node:path";
import { rmSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { drop, openPage, type PageOptions, peakMemory } from "./support/browser.ts";
import { folderWith, nvfp4, sparseFile, writeSparse } from "./support/checkpoints.ts";

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function show(options: PageOptions = {}): Promise<Page> {
  const opened = await openPage(options);
  closing.push(opened.close);
  return opened.page;
}

function folder(files: Record<string, Uint8Array | string>): string {
  const path = folderWith(files);
  closing.push(() => rmSync(path, { recursive: true }));
  return path;
}

function whole(file: { size: number; read(start: number, end: number): Uint8Array }): Uint8Array {
  return file.read(0, file.size);
}

const first = sparseFile(nvfp4("layers.0.wo", 64, 64));
const second = sparseFile(nvfp4("layers.1.wo", 64, 64));
const INDEX = JSON.stringify({ weight_map: Object.fromEntries([0, 1].flatMap((at) => ["weight", "weight_scale", "weight_scale_2"].map((part) => [`layers.${at}.wo.${part}`, `${at}.safetensors`]))) });

test("a file that is dropped opens", async () => {
  const path = folder({ "a.safetensors": whole(first) });
  const page = await show();
  await drop(page, join(path, "a.safetensors"));
  await page.getByRole("treeitem", { name: /wo/ }).waitFor();
  expect(await page.title()).toContain("a.safetensors");
});

test("a folder that is dropped opens with all its shards", async () => {
  const path = folder({ "0.safetensors": whole(first), "1.safetensors": whole(second), "model.safetensors.index.json": INDEX, "config.json": '{"model_type":"llama"}' });
  const page = await show();
  await drop(page, path);
  await expect.poll(() => page.getByRole("treeitem", { name: /wo/ }).count()).toBe(2);
  await page.getByText("llama").first().waitFor();
});

test("files that are chosen open, and a folder from an input of files", async () => {
  const path = folder({ "0.safetensors": whole(first), "1.safetensors": whole(second), "model.safetensors.index.json": INDEX });
  const page = await show();
  const inputs = page.locator("input[type=file]");
  await inputs.nth(0).setInputFiles(["0.safetensors", "1.safetensors", "model.safetensors.index.json"].map((name) => join(path, name)));
  await expect.poll(() => page.getByRole("treeitem", { name: /wo/ }).count()).toBe(2);
  await page.getByRole("link", { name: "blockscale" }).click();
  await inputs.nth(1).setInputFiles(path);
  await expect.poll(() => page.getByRole("treeitem", { name: /wo/ }).count()).toBe(2);
});

test("a shard that was not dropped is named", async () => {
  const path = folder({ "0.safetensors": whole(first), "model.safetensors.index.json": INDEX });
  const page = await show();
  await drop(page, path);
  await expect.poll(() => page.locator("body").textContent()).toMatch(/1\.safetensors/);
});

test.each([
  ["a header that is no JSON", new Uint8Array([4, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), /a\.safetensors/],
  ["an empty file", new Uint8Array(), /a\.safetensors/],
  ["a length beyond the file", new Uint8Array([255, 255, 255, 255, 255, 255, 255, 127, 1]), /a\.safetensors/],
])("%s is said by name, and the page stays usable", async (_, bytes, words) => {
  const path = folder({ "a.safetensors": bytes });
  const page = await show();
  await drop(page, join(path, "a.safetensors"));
  await expect.poll(() => page.getByRole("alert").textContent()).toMatch(words);
  await page.getByRole("button", { name: /^Clean/ }).click();
  await page.getByRole("treeitem", { name: /down_proj/ }).first().waitFor();
});

test("a link to somebody's file asks for the file, and then shows what the link shows", async () => {
  const path = folder({ "a.safetensors": whole(first) });
  const page = await show({ hash: "#src=files:a.safetensors&w=layers.0.wo.weight" });
  await expect.poll(() => page.getByRole("alert").textContent()).toMatch(/Drop that file or folder here/);
  await drop(page, join(path, "a.safetensors"));
  await page.getByRole("treeitem", { name: /wo/, selected: true }).waitFor();
});

test("of 6 GiB only what is looked at is read, beyond 2^32 as well, in little memory", async () => {
  const path = folder({});
  const filler = { name: "a_filler", dtype: "U8" as const, shape: [6 * 2 ** 10, 2 ** 20] };
  const file = sparseFile([filler, ...nvfp4("tail", 256, 256, { scales: (start, end) => Uint8Array.from({ length: end - start }, (_, at) => 0x20 + ((start + at) % 64)) })]);
  writeSparse(join(path, "big.safetensors"), file, [[0, file.header.length], [file.size - 64 * 1024, file.size]]);
  const page = await show();
  await drop(page, join(path, "big.safetensors"));
  await page.getByRole("treeitem", { name: /tail/ }).click();
  await page.locator("canvas").first().waitFor();
  await expect.poll(() => page.locator(".status").textContent()).toMatch(/^\d+(\.\d+)? KiB of 6 GiB read/);
  expect(await peakMemory()).toBeLessThan(512 << 20);
});

test("a tensor that is too wide for a browser is left out by name, and the others open", async () => {
  const path = folder({});
  const filler = { name: "filler", dtype: "U8" as const, shape: [5 * 2 ** 30] };
  const codes = { name: "w.weight", dtype: "F8_E4M3" as const, shape: [2, 2], bytes: Uint8Array.of(0x38, 0xb8, 0x40, 0x7e) };
  const scale = { name: "w.weight_scale_inv", dtype: "F32" as const, shape: [1, 1], bytes: new Uint8Array(Float32Array.of(0.5).buffer) };
  const file = sparseFile([filler, codes, scale]);
  writeSparse(join(path, "sparse.safetensors"), file, [[0, file.header.length], [file.size - 8, file.size]]);
  const page = await show();
  await drop(page, join(path, "sparse.safetensors"));
  await page.getByText("left out: filler").waitFor();
  await page.getByRole("treeitem", { name: /^w/ }).click();
  await page.locator("canvas").first().waitFor();
});
