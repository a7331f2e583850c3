// The hidden frame of a reader: its policy lets it connect to the addresses of the sources that are
// open, and to no other. The worker that it starts has the same policy, as it starts from a `blob:`.

import workerUrl from "./worker/main.ts?worker&url";

/** An address of a policy; a word that is none could widen it. */
const ADDRESS = /^https?:\/\/(\*\.)?(\[[\da-f:]+\]|[\w.-]+)(:\d+)?$/;

narrow(new URLSearchParams(location.search).getAll("allow"));

addEventListener("message", (event: MessageEvent<{ page: string }>) => {
  const [port] = event.ports;
  if (event.origin === location.origin && event.source === parent && port) start(port, event.data.page);
}, { once: true });

/** Adds a policy to that of the document: of several, all hold. */
function narrow(addresses: readonly string[]): void {
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = ["connect-src 'self'", ...addresses.filter((address) => ADDRESS.test(address))].join(" ");
  document.head.append(policy);
}

function start(port: MessagePort, page: string): void {
  const module = new URL(workerUrl, location.href).href;
  const script = URL.createObjectURL(new Blob([`import ${JSON.stringify(module)};`], { type: "text/javascript" }));
  const worker = new Worker(script, { type: "module" });
  worker.postMessage({ port, page }, [port]);
}
