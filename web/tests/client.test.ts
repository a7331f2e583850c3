// Requests between page and worker: answers, steps, cancelling.

import { expect, test } from "vitest";
import { type Channel, Client, problemOf, wasCancelled } from "../src/client/client.ts";
import type { FromWorker, ToWorker } from "../src/protocol/calls.ts";
import { ProblemError, problemFrom } from "../src/protocol/problem.ts";
import { Answering, buffersIn } from "../src/worker/answering.ts";
import type { Handlers, Held, Library } from "../src/worker/context.ts";

type Weight = Handlers["weight"];

/** A client and a worker's side with one handler, joined by messages. */
function joined(weight: Weight): { client: Client; sent: ToWorker[] } {
  const sent: ToWorker[] = [];
  let receive: Channel["onmessage"] = null;
  const port = { postMessage: (message: FromWorker) => queueMicrotask(() => receive?.({ data: message } as MessageEvent<FromWorker>)) };
  const handlers = { weight } as unknown as Handlers;
  const answering = new Answering(port, Promise.resolve({} as Library), handlers, () => ({}) as Held);
  const channel: Channel = {
    postMessage(message) {
      sent.push(message);
      void answering.receive(message);
    },
    get onmessage() {
      return receive;
    },
    set onmessage(listener) {
      receive = listener;
    },
  };
  return { client: new Client(channel), sent };
}

const REQUEST = { checkpoint: 0, weight: 3 } as const;

test("an answer goes to who asked, whatever the order", async () => {
  const { client } = joined(async ({ weight }) => {
    await new Promise((resolve) => setTimeout(resolve, 20 - 5 * weight));
    return { name: String(weight) } as Awaited<ReturnType<Weight>>;
  });
  const answers = await Promise.all([1, 2, 3].map((weight) => client.call("weight", { checkpoint: 0, weight })));
  expect(answers.map(({ name }) => name)).toEqual(["1", "2", "3"]);
});

test("a request that is given up ends at once here, and in the worker when it breathes", async () => {
  let ended: unknown;
  const { client, sent } = joined(async (_, context) => {
    try {
      for (;;) await context.breathe();
    } catch (error) {
      ended = error;
      throw error;
    }
  });
  const controller = new AbortController();
  const call = client.call("weight", REQUEST, { signal: controller.signal });
  controller.abort();
  const error = await call.catch((error: unknown) => error);
  expect(wasCancelled(error)).toBe(true);
  expect(sent.at(-1)).toEqual({ id: 1, cancel: true });
  await expect.poll(() => ended).toMatchObject({ name: "AbortError" });
});

test("a signal that has ended sends nothing", async () => {
  const { client, sent } = joined(async () => ({}) as Awaited<ReturnType<Weight>>);
  await expect(client.call("weight", REQUEST, { signal: AbortSignal.abort() })).rejects.toThrow("cancelled");
  expect(sent).toEqual([]);
});

test("problems keep their code and advice on the way", async () => {
  const { client } = joined(async () => {
    throw new ProblemError("no-ranges", "`a`: no ranges", "Do this.");
  });
  const error = await client.call("weight", REQUEST).catch((error: unknown) => error);
  expect(problemOf(error)).toEqual({ code: "no-ranges", message: "`a`: no ranges", advice: "Do this." });
});

test("steps reach who asked and the list of jobs, which is empty at the end", async () => {
  const { client } = joined(async (_, { progress, breathe }) => {
    progress({ what: "reading", done: 1, total: 1 });
    await breathe();
    return {} as Awaited<ReturnType<Weight>>;
  });
  const steps: string[] = [];
  const jobs: number[] = [];
  client.jobs.add((all) => jobs.push(all.length));
  await client.call("weight", REQUEST, { onStep: ({ what }) => steps.push(what) });
  expect(steps).toEqual(["reading"]);
  expect([jobs[0], jobs.at(-1)]).toEqual([1, 0]);
});

test("a client that is closed gives up all that was asked, and asks no more", async () => {
  const { client } = joined(() => new Promise(() => undefined));
  const call = client.call("weight", REQUEST);
  client.close();
  await expect(call).rejects.toThrow("cancelled");
  await expect(client.call("weight", REQUEST)).rejects.toThrow("cancelled");
});

test("buffers are handed over, each once, but not those of which only a part is meant", () => {
  const [whole, shared] = [new Float32Array(4), new Uint8Array(8)];
  expect(buffersIn({ a: whole, b: [whole, { c: shared.subarray(2) }], d: "text", e: null })).toEqual([whole.buffer]);
});

test("errors of the library are about contents, others are ours", () => {
  expect(problemFrom(new Error("`a`: bad shape")).code).toBe("contents");
  expect(problemFrom(new RangeError("out of memory")).code).toBe("other");
  expect(problemFrom(new DOMException("x", "AbortError")).code).toBe("cancelled");
  expect(problemFrom("text")).toEqual({ code: "contents", message: "text" });
});
