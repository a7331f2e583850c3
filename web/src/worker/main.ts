// The worker: the module and all reading live here, so that the page never waits.

import { load } from "blockscale-wasm";
import type { ToWorker } from "../protocol/calls.ts";
import { noteStopped } from "../sources/explain.ts";
import { Answering } from "./answering.ts";
import { openHandlers } from "./handlers.ts";
import { lookHandlers } from "./look/index.ts";
import { Slots } from "./slots.ts";
import { surveyHandlers } from "./survey.ts";

/** The first message: where to listen, and the address of the page. */
export interface Begin {
  port: MessagePort;
  page: string;
}

const TRAFFIC_MS = 100;

self.addEventListener("securitypolicyviolation", (event) => noteStopped(event.blockedURI));

self.addEventListener("message", ({ data }: MessageEvent<Begin>) => begin(data), { once: true });

function begin({ port, page }: Begin): void {
  const slots = new Slots();
  let telling: ReturnType<typeof setTimeout> | undefined;
  const told = () => {
    telling ??= setTimeout(() => {
      telling = undefined;
      port.postMessage({ traffic: slots.traffic() });
    }, TRAFFIC_MS);
  };
  const handlers = { ...openHandlers(slots, page, told), ...surveyHandlers, ...lookHandlers };
  const answering = new Answering(port, load(), handlers, (slot) => slots.get(slot));
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => void answering.receive(data);
}
