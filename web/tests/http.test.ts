import { afterEach, expect, test } from "vitest";
import { nvfp4, sparseFile } from "../e2e/support/checkpoints.ts";
import { type Behaviour, rangeServer, type RangeServer } from "../e2e/support/range_server.ts";
import { ProblemError } from "../src/protocol/problem.ts";
import { contentRange, HttpFile } from "../src/sources/http.ts";
import { Hub } from "../src/sources/hub.ts";
import { WebAddress } from "../src/sources/url.ts";

const never = new AbortController().signal;
const open: RangeServer[] = [];
const BYTES = Uint8Array.from({ length: 1000 }, (_, at) => at % 251);

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serve(files: Parameters<typeof rangeServer>[0], behaviour?: Behaviour): Promise<RangeServer> {
  const server = await rangeServer(files, behaviour);
  open.push(server);
  return server;
}

function fileOf(server: RangeServer): HttpFile {
  return new HttpFile("a", `${server.url}a`, { pausesMs: [0, 0] });
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => undefined, (error: unknown) => error);
  return error instanceof ProblemError ? error.problem.code : String(error);
}

test.each(["kept", "longer", "ignored"] as const)("just the bytes that were asked for are given where ranges are %s", async (ranges) => {
  const file = fileOf(await serve({ a: BYTES }, { ranges }));
  expect([...(await file.start(8, never))]).toEqual([...BYTES.subarray(0, 8)]);
  expect(file.bytes).toBe(1000);
  expect([...(await file.read(100, 110, never))]).toEqual([...BYTES.subarray(100, 110)]);
  expect([...(await file.read(990, 1000, never))]).toEqual([...BYTES.subarray(990)]);
});

test("an answer that starts elsewhere is cut to what was asked for, or refused", async () => {
  const answer = (range: string, from: number, to: number) => ({ answer: () => ({ status: 206, headers: { "content-range": range }, body: Buffer.from(BYTES.subarray(from, to)).toString("latin1") }) });
  const before = fileOf(await serve({}, answer("bytes 90-120/1000", 90, 121)));
  expect((await before.read(100, 110, never))[0]).toBe(100);
  const after = fileOf(await serve({}, answer("bytes 105-120/1000", 105, 121)));
  expect(await codeOf(after.read(100, 110, never))).toBe("server");
});

test("a file that is too short, or empty, is no success", async () => {
  const file = fileOf(await serve({ a: BYTES }));
  expect(await codeOf(file.read(995, 1005, never))).toBe("too-short");
  expect(await codeOf(file.read(2000, 2010, never))).toBe("too-short");
  const empty = fileOf(await serve({ a: new Uint8Array() }));
  expect((await empty.start(8, never)).length).toBe(0);
  expect(empty.bytes).toBe(0);
});

test("a connection that is cut is tried again, and then said to be cut", async () => {
  const once = await serve({ a: BYTES }, { cutAfter: ({ count }) => (count === 0 ? 3 : undefined) });
  expect((await fileOf(once).read(0, 10, never)).length).toBe(10);
  expect(once.requests).toHaveLength(2);
  const always = fileOf(await serve({ a: BYTES }, { cutAfter: () => 3 }));
  expect(await codeOf(always.read(0, 10, never))).toMatch(/unreachable|too-short/);
});

test.each([
  [401, "not-allowed", 1],
  [403, "not-allowed", 1],
  [404, "not-found", 1],
  [412, "changed", 1],
  [418, "other", 1],
  [429, "too-many-requests", 3],
  [500, "server", 3],
  [503, "server", 3],
])("status %i is `%s`, after %i requests", async (status, code, requests) => {
  const server = await serve({}, { answer: () => ({ status, headers: { "retry-after": "0" } }) });
  expect(await codeOf(fileOf(server).read(0, 10, never))).toBe(code);
  expect(server.requests).toHaveLength(requests);
});

test("another file under the same address is never mixed with the first", async () => {
  let etag = '"1"';
  const server = await serve({ a: BYTES }, { etag: () => etag });
  const file = fileOf(server);
  await file.read(0, 10, never);
  etag = '"2"';
  expect(await codeOf(file.read(10, 20, never))).toBe("changed");
  etag = '"1"';
  server.files.set("a", { size: 999, read: (start, end) => BYTES.subarray(start, end) });
  expect(await codeOf(file.read(20, 30, never))).toBe("changed");
});

test("what an address leads to is asked directly, until it is no longer valid", async () => {
  let store = "one";
  const server = await serve({ one: BYTES, two: BYTES }, {
    answer: ({ path }) => (path === "a" ? { status: 302, headers: { location: `/${store}` } } : path !== store ? { status: 403 } : undefined),
  });
  const file = fileOf(server);
  await file.read(0, 10, never);
  await file.read(10, 20, never);
  store = "two";
  expect((await file.read(20, 30, never)).length).toBe(10);
  expect(server.requests.map(({ path }) => path)).toEqual(["a", "one", "one", "one", "a", "two"]);
});

test("giving up ends a request that is under way", async () => {
  const server = await serve({ a: BYTES }, { delayMs: 10_000 });
  const quitter = new AbortController();
  const read = fileOf(server).read(0, 10, quitter.signal);
  setTimeout(() => quitter.abort(), 20);
  await expect(read).rejects.toThrow(/abort/i);
});

test("nobody at an address is told from an answer", async () => {
  const server = await serve({ a: BYTES });
  const file = fileOf(server);
  await server.close();
  expect(await codeOf(file.read(0, 10, never))).toBe("unreachable");
});

test.each([
  ["bytes 0-7/1000", { start: 0, end: 8, total: 1000 }],
  ["bytes 5-5/*", { start: 5, end: 6, total: undefined }],
  ["bytes */1000", undefined],
  ["items 0-1/2", undefined],
  [null, undefined],
])("`%s` is read as a range", (header, range) => {
  expect(contentRange(header)).toEqual(range);
});

const SHARD = sparseFile(nvfp4("a", 64, 64));
const INDEX = Buffer.from(JSON.stringify({ weight_map: { x: "one.safetensors", y: "two.safetensors" } }));

test("a folder lists its index, its shards with sizes, and its configs", async () => {
  const server = await serve({ "m/model.safetensors.index.json": INDEX, "m/one.safetensors": SHARD, "m/two.safetensors": SHARD, "m/config.json": Buffer.from("{}") });
  const files = await new WebAddress(`${server.url}m`).list(never);
  expect(files).toEqual([
    { name: "model.safetensors.index.json", bytes: INDEX.length },
    { name: "config.json", bytes: 2 },
    { name: "one.safetensors", bytes: SHARD.size },
    { name: "two.safetensors", bytes: SHARD.size },
  ]);
});

test("a folder without an index is its one file; a page instead of a config is no config", async () => {
  const server = await serve({ "m/model.safetensors": SHARD, "m/config.json": Buffer.from("<html>") });
  expect(await new WebAddress(`${server.url}m/`).list(never)).toEqual([{ name: "model.safetensors", bytes: SHARD.size }]);
});

test("a large index is not read: its shards are known from one name", async () => {
  const shards = Array.from({ length: 3 }, (_, at) => `model-0000${at + 1}-of-00003.safetensors`);
  const map = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`layers.${at}.weight.of.a.long.name`, shards[at % 3]]));
  const index = Buffer.from(JSON.stringify({ metadata: {}, weight_map: map }));
  expect(index.length).toBeGreaterThan(1 << 20);
  const server = await serve({ "model.safetensors.index.json": index, ...Object.fromEntries(shards.map((shard) => [shard, SHARD])) });
  const files = await new WebAddress(server.url).list(never);
  expect(files).toEqual([{ name: "model.safetensors.index.json", bytes: index.length }, ...shards.map((name) => ({ name, bytes: SHARD.size }))]);
  expect(server.sent()).toBeLessThan(10_000);
});

test("an index may name no file outside its folder", async () => {
  const index = Buffer.from(JSON.stringify({ weight_map: { x: "../secret.safetensors", y: "one.safetensors", z: "https://elsewhere/a.safetensors" } }));
  const server = await serve({ "m/model.safetensors.index.json": index, "m/one.safetensors": SHARD, "secret.safetensors": SHARD });
  const files = await new WebAddress(`${server.url}m/`).list(never);
  expect(files.map(({ name }) => name)).toEqual(["model.safetensors.index.json", "one.safetensors"]);
  expect(server.of("secret.safetensors")).toEqual([]);
});

test("a Hub lists files with sizes of large and small ones, and reads them of one commit", async () => {
  const info = Buffer.from(JSON.stringify({ sha: "abc", siblings: [{ rfilename: "a b.safetensors", size: 10, lfs: { size: SHARD.size } }, { rfilename: "config.json", size: 2 }, { rfilename: "unknown" }] }));
  const server = await serve({ "api/models/org/model/revision/refs%2Fpr%2F1": info, "api/models/org/model/revision/refs/pr/1": info, "org/model/resolve/abc/a b.safetensors": SHARD });
  const hub = new Hub({ endpoint: server.url.replace(/\/$/, ""), model: "org/model", revision: "refs/pr/1" }, "t");
  expect(await hub.list(never)).toEqual([{ name: "a b.safetensors", bytes: SHARD.size }, { name: "config.json", bytes: 2 }]);
  expect((await hub.read("a b.safetensors", 0, 8, never)).length).toBe(8);
  expect(server.requests.every(({ headers }) => headers.authorization === "Bearer t")).toBe(true);
});

test("a token goes to the Hub, and not to the store that it leads to", async () => {
  const store = await serve({ "a.safetensors": SHARD });
  const info = Buffer.from(JSON.stringify({ sha: "abc", siblings: [{ rfilename: "a.safetensors", size: SHARD.size }] }));
  const server = await serve({ "api/models/org/model/revision/main": info }, {
    answer: ({ path }) => (path.startsWith("org/model/resolve") ? { status: 302, headers: { location: `${store.url}a.safetensors` } } : undefined),
  });
  const hub = new Hub({ endpoint: server.url.replace(/\/$/, ""), model: "org/model", revision: "main" }, "secret");
  await hub.list(never);
  await hub.read("a.safetensors", 0, 8, never);
  await hub.read("a.safetensors", 8, 16, never);
  expect(server.requests.every(({ headers }) => headers.authorization === "Bearer secret")).toBe(true);
  expect(store.requests).toHaveLength(2);
  expect(store.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
});
