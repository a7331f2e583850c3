// A Hub: one list of files, then ranges of what is looked at.

import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { openPage, type PageOptions } from "./support/browser.ts";
import { type Entry, nvfp4, sparseFile } from "./support/checkpoints.ts";
import { type Behaviour, type Content, rangeServer, type RangeServer } from "./support/range_server.ts";

const closing: (() => Promise<void>)[] = [];
const SHA = "0123456789abcdef0123456789abcdef01234567";

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function show(options: PageOptions): Promise<Page> {
  const opened = await openPage({ expected: /Failed to load resource/, ...options });
  closing.push(opened.close);
  return opened.page;
}

/** A Hub with one model at `main`. */
async function hub(files: Record<string, Content | Uint8Array>, behaviour: Behaviour = {}): Promise<RangeServer> {
  const sizes = Object.entries(files).map(([rfilename, file]) => ({ rfilename, size: file instanceof Uint8Array ? file.length : file.size }));
  const info = Buffer.from(JSON.stringify({ sha: SHA, siblings: sizes }));
  const resolved = Object.entries(files).map(([name, file]) => [`org/model/resolve/${SHA}/${name}`, file] as const);
  const server = await rangeServer({ "api/models/org/model/revision/main": info, ...Object.fromEntries(resolved) }, { cors: "with-headers", ...behaviour });
  closing.push(server.close);
  return server;
}

test("a model is opened by name from the Hub that was set, all files of one commit", async () => {
  const server = await hub({ "model.safetensors": sparseFile(nvfp4("layers.0.wo", 64, 64)), "config.json": Buffer.from('{"model_type":"llama"}') });
  const page = await show({});
  await page.getByText("Hub and token").click();
  await page.getByLabel("Hub", { exact: true }).fill(server.url);
  await page.getByLabel("Model on a Hub, or address").fill("org/model");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("treeitem", { name: /wo/ }).waitFor();
  const paths = server.requests.map(({ path }) => path);
  expect(paths[0]).toBe("api/models/org/model/revision/main?blobs=true");
  expect(paths.slice(1).every((path) => path.startsWith(`org/model/resolve/${SHA}/`))).toBe(true);
  expect(server.of(`org/model/resolve/${SHA}/model.safetensors`)[0]?.range).toEqual([0, 8]);
});

test("a gated model asks for a token, which is neither in the link nor stored", async () => {
  const file = sparseFile(nvfp4("layers.0.wo", 64, 64));
  const server = await hub({ "model.safetensors": file }, { answer: ({ headers }) => (headers.authorization === "Bearer secret" ? undefined : { status: 401 }) });
  const page = await show({ hash: `#src=hub:${server.url}org/model` });
  await expect.poll(() => page.getByRole("alert").textContent()).toMatch(/asks who you are/);
  await page.getByRole("button", { name: "Give a token" }).click();
  await page.getByLabel("Token").fill("secret");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("treeitem", { name: /wo/ }).waitFor();
  expect(page.url()).not.toContain("secret");
  const kept = await page.evaluate(() => JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie]));
  expect(kept).not.toContain("secret");
});

test("where the Hub leads to is asked directly from then on", async () => {
  const file = sparseFile(nvfp4("layers.0.wo", 64, 64));
  const server = await hub({ "model.safetensors": file }, {
    answer: ({ path }) => (path.startsWith("org/model/resolve") ? { status: 302, headers: { location: "/store/abc" } } : undefined),
  });
  server.files.set("store/abc", file);
  const page = await show({ hash: `#src=hub:${server.url}org/model` });
  await page.getByRole("treeitem", { name: /wo/ }).waitFor();
  expect(server.of(`org/model/resolve/${SHA}/model.safetensors`)).toHaveLength(1);
  expect(server.of("store/abc").length).toBeGreaterThan(1);
});

test("600 GB in shards are opened by reading less than 3 MiB, and more headers when they are asked for", async () => {
  const shards = 160;
  const files: Record<string, Content | Uint8Array> = {};
  const map: Record<string, string> = {};
  for (let shard = 1; shard <= shards; shard += 1) {
    const entries: Entry[] = Array.from({ length: 300 }, (_, at) => nvfp4(`layers.${Math.floor(shard / 3)}.experts.${shard % 3}.${at}.w1`, 4096, 5632)).flat();
    const name = `model-${String(shard).padStart(5, "0")}-of-${String(shards).padStart(5, "0")}.safetensors`;
    files[name] = sparseFile(entries);
    for (const { name: tensor } of entries) map[tensor] = name;
  }
  const total = Object.values(files).reduce((sum, file) => sum + ("size" in file ? file.size : 0), 0);
  expect(total).toBeGreaterThan(600e9);
  expect(Object.keys(map).length).toBeGreaterThan(142_318);
  const server = await hub({ ...files, "model.safetensors.index.json": Buffer.from(JSON.stringify({ weight_map: map })) });
  const page = await show({ hash: `#src=hub:${server.url}org/model` });
  await page.getByRole("treeitem").first().waitFor();
  await page.locator(".list-status", { hasText: "300 weights" }).waitFor();
  const moved = server.sent();
  expect(moved).toBeLessThan(3 << 20);
  await page.getByRole("button", { name: "Read 8 more" }).click();
  await page.locator(".list-status", { hasText: "2,700 weights" }).waitFor();
  await page.getByRole("treeitem").first().click();
  console.log(`a checkpoint of ${total} bytes: ${moved} bytes before the first tensor`);
});
