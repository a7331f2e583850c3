// Keeps the page for when there is no network. Only files of the page itself are kept: no checkpoint ever is.

const KEPT = "blockscale-page";

self.addEventListener("install", (event) => {
  event.waitUntil(keep().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  const scope = new URL(self.registration.scope);
  const ours = request.method === "GET" && url.origin === scope.origin && url.pathname.startsWith(scope.pathname) && !request.headers.has("range");
  if (ours) event.respondWith(fresh(request));
});

/** The page and all that it loads, as the list beside it says. */
async function keep() {
  const response = await fetch("files.json", { cache: "no-store" });
  const files = await response.json();
  const cache = await caches.open(KEPT);
  await cache.addAll(["./", ...files].map((file) => new Request(file, { cache: "no-cache" })));
}

/** From the network, as the page may have changed; from what was kept where there is none. */
async function fresh(request) {
  const cache = await caches.open(KEPT);
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
