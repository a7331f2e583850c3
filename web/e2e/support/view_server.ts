// What `blockscale view` does for the page: its files under a token, the checkpoint beside them, a policy by header.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { listening, type Served } from "./listening.ts";
import { TYPES } from "./page_server.ts";
import type { Content } from "./range_server.ts";

const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

export interface ViewCheckpoint {
  id: string;
  role: "checkpoint" | "reference";
  name: string;
  files: Record<string, Content>;
}

/** Serves a built page with checkpoints. */
export async function viewServer(folder: string, checkpoints: readonly ViewCheckpoint[]): Promise<Served> {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://host").pathname);
    const inside = /^\/token\/(.*)$/.exec(path)?.[1];
    const headers = { "content-security-policy": POLICY, "cache-control": "no-store" };
    if (inside === undefined) return response.writeHead(403, headers).end();
    if (inside === "api/checkpoints") {
      const listed = checkpoints.map(({ files, ...checkpoint }) => ({
        ...checkpoint,
        files: Object.entries(files).map(([name, { size }]) => ({ name, bytes: size, url: `api/files/${checkpoint.id}/${name}` })),
      }));
      return response.writeHead(200, { ...headers, "content-type": "application/json" }).end(JSON.stringify({ version: "0", checkpoints: listed }));
    }
    const [, id, name = ""] = /^api\/files\/([^/]+)\/(.+)$/.exec(inside) ?? [];
    const file = checkpoints.find((checkpoint) => checkpoint.id === id)?.files[name];
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    if (file && range) {
      const [start, end] = [Number(range[1]), Math.min(file.size, Number(range[2]) + 1)];
      return response.writeHead(206, { ...headers, etag: '"1"', "content-range": `bytes ${start}-${end - 1}/${file.size}` }).end(file.read(start, end));
    }
    try {
      const asked = normalize(inside === "" ? "index.html" : inside);
      const bytes = await readFile(join(folder, asked));
      const extension = /\.\w+$/.exec(asked)?.[0] ?? "";
      const body = asked === "index.html" ? bytes.toString().replace("<head>", '<head><meta name="blockscale-server" content="api/">') : bytes;
      response.writeHead(200, { ...headers, "content-type": TYPES[extension] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  const served = await listening(server);
  return { ...served, url: `${served.url}token/` };
}
