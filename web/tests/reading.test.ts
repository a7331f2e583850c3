import { expect, test } from "vitest";
import type { Source } from "../src/sources/source.ts";
import { Limit } from "../src/sources/limit.ts";
import { ByteCache } from "../src/worker/cache.ts";
import { Reading } from "../src/worker/reading.ts";

/** Byte `i` of the file is `i % 251`. */
function byte(at: number): number {
  return at % 251;
}

class Counting implements Source {
  readonly name = "test";
  readonly reach = "remote";
  asked: [number, number][] = [];
  aborted = 0;
  gate: Promise<void> = Promise.resolve();

  async list() {
    return [];
  }

  async read(_: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    this.asked.push([start, end]);
    signal.addEventListener("abort", () => (this.aborted += 1));
    await this.gate;
    signal.throwIfAborted();
    return Uint8Array.from({ length: end - start }, (_, at) => byte(start + at));
  }
}

const never = new AbortController().signal;

function want(start: number, end: number) {
  return { file: "a", start, end };
}

test("what was read is not read again, and only what is missing between is", async () => {
  const source = new Counting();
  const reading = new Reading(source, () => undefined);
  await reading.read([want(10, 20), want(30, 40)], never);
  const [bytes] = await reading.read([want(5, 45)], never);
  expect(source.asked).toEqual([[10, 20], [30, 40], [5, 10], [20, 30], [40, 45]]);
  expect([...(bytes ?? [])]).toEqual(Array.from({ length: 40 }, (_, at) => byte(5 + at)));
  expect(reading.missing([want(0, 50)])).toBe(10);
  expect(reading.bytesRead).toBe(40);
});

test("what two want at once is read once, and goes on when one gives up", async () => {
  const source = new Counting();
  let open = () => {};
  source.gate = new Promise((resolve) => (open = resolve));
  const reading = new Reading(source, () => undefined);
  const quitter = new AbortController();
  const first = reading.read([want(0, 10)], quitter.signal);
  const second = reading.read([want(0, 10)], never);
  quitter.abort();
  await expect(first).rejects.toThrow(/abort/i);
  open();
  expect((await second)[0]).toHaveLength(10);
  expect(source.asked).toEqual([[0, 10]]);
});

test("what nobody wants any more is given up, and can be asked for anew", async () => {
  const source = new Counting();
  source.gate = new Promise(() => undefined);
  const reading = new Reading(source, () => undefined);
  const quitter = new AbortController();
  const first = reading.read([want(0, 10)], quitter.signal);
  quitter.abort();
  await expect(first).rejects.toThrow();
  expect(source.aborted).toBe(1);
  source.gate = Promise.resolve();
  expect((await reading.read([want(0, 10)], never))[0]).toHaveLength(10);
});

test("a large range is cut", async () => {
  const source = new Counting();
  await new Reading(source, () => undefined).read([want(0, 9 << 20)], never);
  expect(source.asked).toEqual([[0, 4 << 20], [4 << 20, 8 << 20], [8 << 20, 9 << 20]]);
});

test("the cache holds no more than it may, and lets go of what was used longest ago", () => {
  const cache = new ByteCache(100);
  cache.put("a", 0, new Uint8Array(40));
  cache.put("b", 0, new Uint8Array(40));
  cache.copy("a", { start: 0, end: 40 }, new Uint8Array(40));
  cache.put("c", 0, new Uint8Array(40));
  expect(cache.held).toBe(80);
  expect(cache.gaps("a", { start: 0, end: 40 })).toEqual([]);
  expect(cache.gaps("b", { start: 0, end: 40 })).toEqual([{ start: 0, end: 40 }]);
  cache.put("d", 0, new Uint8Array(101));
  expect(cache.held).toBe(80);
});

test("overlapping ranges are kept once", () => {
  const cache = new ByteCache(1000);
  cache.put("a", 10, new Uint8Array(10).fill(1));
  cache.put("a", 5, new Uint8Array(20).fill(2));
  const out = new Uint8Array(20);
  cache.copy("a", { start: 5, end: 25 }, out);
  expect([...out]).toEqual([...Array(5).fill(2), ...Array(10).fill(1), ...Array(5).fill(2)]);
  expect(cache.held).toBe(20);
});

test("no more run at a time than may, and those that wait can give up", async () => {
  const limit = new Limit(2);
  let running = 0;
  let most = 0;
  const quitter = new AbortController();
  const task = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running -= 1;
  };
  const tasks = Array.from({ length: 8 }, (_, at) => limit.run(task, at === 5 ? quitter.signal : never));
  quitter.abort();
  const ends = await Promise.allSettled(tasks);
  expect(most).toBe(2);
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(limit.running).toBe(0);
});
