// Waiting for a moment when nothing is asked of the worker.

import type { Client } from "./client.ts";

/** Calls `then` once no request has run for some time; the result stops the waiting. */
export function whenIdle(client: Client, ms: number, then: () => void): () => void {
  let timer = setTimeout(end, ms);
  const undo = client.jobs.add((jobs) => {
    clearTimeout(timer);
    if (jobs.length === 0) timer = setTimeout(end, ms);
  });
  function end(): void {
    undo();
    then();
  }
  return () => {
    clearTimeout(timer);
    undo();
  };
}
