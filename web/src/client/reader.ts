// A reader: a hidden frame under a policy of its own, and the worker in it.

import type { FromWorker, ToWorker } from "../protocol/calls.ts";
import type { Channel } from "./client.ts";

export interface Reader extends Channel {
  /** Whether it may connect to all of these addresses. */
  allows(addresses: readonly string[]): boolean;
  end(): void;
}

/** Starts a reader that may connect to these addresses beside the page's own. */
export async function startReader(addresses: readonly string[]): Promise<Reader> {
  const url = new URL("reader.html", document.baseURI);
  for (const address of addresses) url.searchParams.append("allow", address);
  const frame = document.createElement("iframe");
  frame.hidden = true;
  frame.title = "reader";
  frame.setAttribute("aria-hidden", "true");
  const loaded = new Promise((resolve, reject) => {
    frame.addEventListener("load", resolve, { once: true });
    frame.addEventListener("error", reject, { once: true });
  });
  frame.src = url.href;
  document.body.append(frame);
  await loaded;
  const { port1, port2 } = new MessageChannel();
  const page = new URL("./", document.baseURI).href;
  frame.contentWindow?.postMessage({ page }, location.origin, [port2]);
  return readerOf(port1, frame, new Set(addresses));
}

function readerOf(port: MessagePort, frame: HTMLIFrameElement, allowed: ReadonlySet<string>): Reader {
  let listener: ((event: MessageEvent<FromWorker>) => void) | null = null;
  port.onmessage = (event: MessageEvent<FromWorker>) => listener?.(event);
  return {
    allows: (addresses) => addresses.every((address) => allowed.has(address)),
    postMessage: (message: ToWorker) => port.postMessage(message),
    get onmessage() {
      return listener;
    },
    set onmessage(next) {
      listener = next;
    },
    end() {
      port.close();
      // The worker ends with its frame.
      frame.remove();
    },
  };
}
