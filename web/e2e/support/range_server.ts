// A server of files by ranges that counts what it is asked for, and that can misbehave in any known way.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listening, type Served } from "./listening.ts";

/** A file of any size, whose bytes need not exist before they are asked for. */
export interface Content {
  size: number;
  read(start: number, end: number): Uint8Array;
}

export function contentOf(bytes: Uint8Array): Content {
  return { size: bytes.length, read: (start, end) => bytes.subarray(start, end) };
}

export interface Request {
  method: string;
  path: string;
  /** The range, the end not included. */
  range: [start: number, end: number] | undefined;
  status: number;
  /** Bytes of the body that were sent. */
  sent: number;
  headers: IncomingMessage["headers"];
}

export interface Behaviour {
  /** What becomes of a range: kept to, ignored, or answered by more than was asked for. */
  ranges?: "kept" | "ignored" | "longer";
  /** Whether pages of other hosts may read. */
  cors?: "allowed" | "with-headers" | "refused";
  /** Another answer than the file: a status, or a place to go. */
  answer?(request: { path: string; count: number; headers: IncomingMessage["headers"] }): { status: number; headers?: Record<string, string>; body?: string } | undefined;
  /** Bytes of a body after which the connection is cut. */
  cutAfter?(request: { path: string; count: number }): number | undefined;
  etag?(path: string): string;
  /** Waits before it answers. */
  delayMs?: number;
}

export interface RangeServer extends Served {
  requests: Request[];
  files: Map<string, Content>;
  behaviour: Behaviour;
  /** Bytes of all bodies. */
  sent(): number;
  /** Requests for a path, in order. */
  of(path: string): Request[];
}

export async function rangeServer(files: Record<string, Content | Uint8Array>, behaviour: Behaviour = {}): Promise<RangeServer> {
  const contents = Object.entries(files).map(([path, file]) => [path, file instanceof Uint8Array ? contentOf(file) : file] as const);
  const requests: Request[] = [];
  const state = { files: new Map(contents), behaviour };
  const server = createServer((request, response) => {
    const handle = () => answer(request, response, state, requests);
    if (state.behaviour.delayMs) setTimeout(handle, state.behaviour.delayMs);
    else handle();
  });
  const { url, close } = await listening(server);
  return Object.assign(state, {
    url,
    close,
    requests,
    sent: () => requests.reduce((sum, { sent }) => sum + sent, 0),
    of: (path: string) => requests.filter((request) => request.path === path && request.method !== "OPTIONS"),
  });
}

function answer(request: IncomingMessage, response: ServerResponse, { files, behaviour }: Pick<RangeServer, "files" | "behaviour">, requests: Request[]): void {
  const path = decodeURIComponent((request.url ?? "/").replace(/^\//, ""));
  const count = requests.filter((other) => other.path === path).length;
  const log: Request = { method: request.method ?? "", path, range: undefined, status: 0, sent: 0, headers: request.headers };
  requests.push(log);
  const end = (status: number, headers: Record<string, string | number> = {}, body: Uint8Array | string = "") => {
    log.status = status;
    response.writeHead(status, { ...corsHeaders(behaviour), ...headers });
    const cut = behaviour.cutAfter?.({ path, count });
    const bytes = Buffer.from(body);
    if (cut !== undefined && cut < bytes.length) {
      log.sent = cut;
      response.write(bytes.subarray(0, cut), () => response.destroy());
      return;
    }
    log.sent = request.method === "HEAD" ? 0 : bytes.length;
    response.end(bytes);
  };
  if (request.method === "OPTIONS") return end(204, { "access-control-allow-headers": "range, authorization", "access-control-allow-methods": "GET, HEAD" });
  const special = behaviour.answer?.({ path, count, headers: request.headers });
  if (special) return end(special.status, special.headers, special.body);
  const file = files.get(path.replace(/\?.*$/, "")) ?? files.get(path);
  if (!file) return end(404, { "content-type": "text/plain" }, "no such file");
  const headers = { "accept-ranges": "bytes", etag: behaviour.etag?.(path) ?? '"1"', "content-type": "application/octet-stream" };
  if (request.method === "HEAD") return end(200, { ...headers, "content-length": file.size });
  const asked = /^bytes=(\d+)-(\d+)?$/.exec(request.headers.range ?? "");
  if (!asked || behaviour.ranges === "ignored") return whole(file, headers, end);
  const start = Number(asked[1]);
  const stop = Math.min(file.size, asked[2] === undefined ? file.size : Number(asked[2]) + 1);
  if (start >= file.size) return end(416, { "content-range": `bytes */${file.size}` });
  const to = behaviour.ranges === "longer" ? Math.min(file.size, stop + 1000) : stop;
  log.range = [start, stop];
  end(206, { ...headers, "content-range": `bytes ${start}-${to - 1}/${file.size}` }, file.read(start, to));
}

/** A whole file, as far as it is taken. */
function whole(file: Content, headers: Record<string, string>, end: (status: number, headers: Record<string, string | number>, body: Uint8Array) => void): void {
  // More than a reader should ever take of it; the length that is announced is the true one.
  const most = Math.min(file.size, 64 << 20);
  end(200, { ...headers, "content-length": file.size }, file.read(0, most));
}

function corsHeaders({ cors = "allowed" }: Behaviour): Record<string, string> {
  if (cors === "refused") return {};
  const allowed = { "access-control-allow-origin": "*" };
  return cors === "with-headers" ? { ...allowed, "access-control-expose-headers": "content-range, etag" } : allowed;
}
