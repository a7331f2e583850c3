// Checkpoints that are far away: how little is read, and what is said when it goes wrong.

import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { openPage, type OpenPage, type PageOptions } from "./support/browser.ts";
import { nvfp4, sparseFile } from "./support/checkpoints.ts";
import { type Behaviour, type Content, rangeServer, type RangeServer } from "./support/range_server.ts";

const FAILED_REQUEST = /Failed to load resource|CORS policy|net::ERR/;

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(files: Record<string, Content | Uint8Array>, behaviour?: Behaviour): Promise<RangeServer> {
  const server = await rangeServer(files, behaviour);
  closing.push(server.close);
  return server;
}

async function show(options: PageOptions): Promise<Page> {
  const opened: OpenPage = await openPage({ expected: FAILED_REQUEST, ...options });
  closing.push(opened.close);
  return opened.page;
}

const small = sparseFile(nvfp4("model.layers.0.wo", 256, 256));
const large = sparseFile(nvfp4("model.layers.0.wo", 16384, 8192));

function tensor(page: Page) {
  return page.getByRole("treeitem", { name: /wo/ });
}

function problem(page: Page) {
  return page.getByRole("alert");
}

test("eight bytes are read of a file, then exactly its header", async () => {
  const server = await serve({ "model.safetensors": large }, { cors: "with-headers" });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await tensor(page).waitFor();
  const ranges = server.of("model.safetensors").map(({ range }) => range);
  expect(ranges.slice(0, 2)).toEqual([[0, 8], [8, large.header.length]]);
});

test("of an answer that is longer than asked for only what was asked for is used", async () => {
  const server = await serve({ "model.safetensors": small }, { ranges: "longer" });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await tensor(page).waitFor();
});

test("a size that other sites may not see is asked for", async () => {
  const server = await serve({ "model.safetensors": small }, { cors: "allowed" });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await tensor(page).waitFor();
  expect(server.of("model.safetensors").some(({ method }) => method === "HEAD")).toBe(true);
});

test("a server that ignores ranges is recognised before a large file is read", async () => {
  const server = await serve({ "model.safetensors": large }, { ranges: "ignored" });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await expect.poll(() => problem(page).textContent()).toMatch(/model\.safetensors.*ignores ranges/);
  expect(await problem(page).textContent()).toMatch(/download the file and drop it here/);
});

test("a small file is taken whole from a server that ignores ranges", async () => {
  const server = await serve({ "model.safetensors": small }, { ranges: "ignored" });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await tensor(page).waitFor();
});

test("missing permission for other sites is told from a server that is not there", async () => {
  const server = await serve({ "model.safetensors": small }, { cors: "refused" });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await expect.poll(() => problem(page).textContent()).toMatch(/does not allow other sites to read its files \(CORS\)/);
  await server.close();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => problem(page).textContent()).toMatch(/does not answer/);
});

test.each([
  [401, /asks who you are/],
  [403, /refuses access/],
  [404, /has no such file/],
  [429, /asks for fewer requests/],
  [500, /has a fault of its own \(500\)/],
])("an answer of %i names the file and what to do", async (status, words) => {
  const server = await serve({}, { answer: ({ path }) => (path === "model.safetensors" ? { status, headers: { "retry-after": "0" } } : undefined) });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await expect.poll(() => problem(page).textContent(), { timeout: 5000 }).toMatch(words);
  expect(await problem(page).textContent()).toContain("model.safetensors");
});

test("what may pass is tried again", async () => {
  const server = await serve({ "model.safetensors": small }, {
    answer: ({ path, count }) => (path === "model.safetensors" && count === 0 ? { status: 503, headers: { "retry-after": "0" } } : undefined),
    cutAfter: ({ path, count }) => (path === "model.safetensors" && count === 2 ? 100 : undefined),
  });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await tensor(page).waitFor();
});

test("a missing shard is named", async () => {
  const index = JSON.stringify({ weight_map: { "a.weight": "one.safetensors", "b.weight": "two.safetensors" } });
  const server = await serve({ "model.safetensors.index.json": Buffer.from(index), "one.safetensors": small });
  const page = await show({ hash: `#src=url:${server.url}` });
  await expect.poll(() => problem(page).textContent()).toMatch(/two\.safetensors.*no such file/);
});

test("the reader of a source connects to no other host, not even where it is led", async () => {
  const elsewhere = await serve({ "secret.safetensors": small });
  const server = await serve({}, { answer: ({ path }) => (path === "model.safetensors" ? { status: 302, headers: { location: `${elsewhere.url}secret.safetensors` } } : undefined) });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors`, expected: /Content Security Policy|Failed to load|violates|Fetch API/ });
  await expect.poll(() => problem(page).textContent()).toMatch(/sends on to another host/);
  expect(elsewhere.requests).toEqual([]);
});

test("the page itself connects nowhere, and its worker only where the source is", async () => {
  const elsewhere = await serve({ "a.txt": Buffer.from("a") });
  const server = await serve({ "model.safetensors": small });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors`, expected: /Content Security Policy|violates|Fetch API/ });
  await tensor(page).waitFor();
  const reaches = (url: string) => fetch(url).then(() => "reached", () => "stopped");
  expect(await page.evaluate(reaches, `${elsewhere.url}a.txt`)).toBe("stopped");
  const [worker] = page.workers();
  expect(await worker?.evaluate(reaches, `${elsewhere.url}a.txt`)).toBe("stopped");
  expect(await worker?.evaluate(reaches, `${server.url}model.safetensors`)).toBe("reached");
});

test("a file that changes on the server is not mixed with the one that was opened", async () => {
  let etag = '"1"';
  const server = await serve({ "model.safetensors": small }, { cors: "with-headers", etag: () => etag });
  const page = await show({ hash: `#src=url:${server.url}model.safetensors` });
  await tensor(page).waitFor();
  etag = '"2"';
  await tensor(page).click();
  await expect.poll(() => problem(page).first().textContent()).toMatch(/was changed on the server/);
});
