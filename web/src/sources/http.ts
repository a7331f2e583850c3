// Ranges of files that lie behind addresses, and a plain word about each way in which that fails.

import { isAbort, ProblemError } from "../protocol/problem.ts";
import { hostOf, refused, unreachable, withoutRanges } from "./explain.ts";
import { tooShort } from "./local.ts";

/** A whole file up to this size is kept where a server sends no ranges. */
export const MOST_WHOLE_BYTES = 8 << 20;

/** Waits before trying again what may pass: a cut connection, too many requests, a server that is down. */
const PAUSES_MS = [300, 1200];
const MOST_PAUSE_MS = 5000;

export interface HttpOptions {
  /** Headers of each request to the address itself. */
  headers?: Record<string, string>;
  fetch?: typeof fetch;
  pausesMs?: readonly number[];
}

/** A file behind an address, read by ranges. */
export class HttpFile {
  readonly #fetch: typeof fetch;
  readonly #pauses: readonly number[];
  /** Where the address led to: asked directly from then on. */
  #landed: string | undefined;
  #whole: Uint8Array | undefined;
  #tag: string | undefined;
  #bytes: number | undefined;

  constructor(
    readonly name: string,
    readonly url: string,
    private readonly options: HttpOptions = {},
  ) {
    this.#fetch = options.fetch ?? fetch.bind(globalThis);
    this.#pauses = options.pausesMs ?? PAUSES_MS;
  }

  /** Its size in bytes, once something was read. */
  get bytes(): number | undefined {
    return this.#bytes;
  }

  /** Its first bytes, fewer than asked for where it is shorter; afterwards its size is known. */
  async start(bytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const found = await this.#retrying(() => this.#range(0, bytes, signal, "at most"), signal);
    this.#bytes ??= await this.#head(signal);
    return found;
  }

  /** All of it, for small files. */
  async all(signal: AbortSignal): Promise<Uint8Array> {
    this.#whole ??= await this.#retrying(async () => {
      const response = await this.#ask({}, signal);
      if (!response.ok) throw await refused(this.name, this.url, response);
      this.#hold(response, undefined);
      return new Uint8Array(await this.#body(response));
    }, signal);
    this.#bytes = this.#whole.length;
    return this.#whole;
  }

  /** Bytes `start` to `end`, the end not included. */
  async read(start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    if (this.#whole) return exactly(this.#whole.slice(start, end), this.name, start, end);
    const found = await this.#retrying(() => this.#range(start, end, signal, "exactly"), signal);
    return exactly(found, this.name, start, end);
  }

  async #range(start: number, end: number, signal: AbortSignal, want: "exactly" | "at most"): Promise<Uint8Array> {
    // Ended when enough was read, whatever else the server would send.
    const enough = new AbortController();
    const stop = () => enough.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      const response = await this.#ask({ Range: `bytes=${start}-${end - 1}` }, enough.signal);
      if (response.status === 206) return await this.#partial(response, start, end, want, enough);
      if (response.status === 200) return (await this.#entire(response, enough)).slice(start, end);
      if (response.status === 416 && want === "at most" && start === 0) {
        this.#bytes = 0;
        return new Uint8Array();
      }
      throw await refused(this.name, this.url, response);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async #partial(
    response: Response,
    start: number,
    end: number,
    want: "exactly" | "at most",
    enough: AbortController,
  ): Promise<Uint8Array> {
    const sent = contentRange(response.headers.get("content-range"));
    this.#hold(response, sent?.total);
    const skip = start - (sent?.start ?? start);
    if (skip < 0 || (sent && sent.end <= start)) {
      enough.abort();
      const range = sent && `${sent.start} to ${sent.end - 1}`;
      throw new ProblemError(
        "server",
        `\`${this.name}\`: bytes ${start} to ${end - 1} were asked for, the server sent ${range}`,
        "The server does not keep to ranges. Download the file and drop it here.",
      );
    }
    const found = await firstBytes(response, skip + (end - start), enough);
    const part = found.subarray(skip);
    if (want === "exactly" && part.length < end - start) throw tooShort(this.name, start, end, part.length);
    return part.slice();
  }

  /** The server ignores ranges: what is small is kept, what is large is refused before it is read. */
  async #entire(response: Response, enough: AbortController): Promise<Uint8Array> {
    const length = Number(response.headers.get("content-length") ?? Number.NaN);
    this.#hold(response, Number.isNaN(length) ? undefined : length);
    const found = length > MOST_WHOLE_BYTES ? undefined : await firstBytes(response, MOST_WHOLE_BYTES + 1, enough);
    if (!found || found.length > MOST_WHOLE_BYTES) {
      enough.abort();
      throw withoutRanges(this.name, this.url);
    }
    this.#whole = found;
    this.#bytes = found.length;
    return found;
  }

  /** The size, where no answer to a range said it. */
  async #head(signal: AbortSignal): Promise<number> {
    const response = await this.#ask({}, signal, "HEAD");
    if (!response.ok) throw await refused(this.name, this.url, response);
    const length = Number(response.headers.get("content-length") ?? Number.NaN);
    if (Number.isNaN(length)) {
      throw new ProblemError(
        "server",
        `\`${this.name}\`: the server at ${hostOf(this.url)} does not say how large the file is`,
        "It has to send `Content-Range`, and to expose it to other sites. Download the file and drop it here.",
      );
    }
    return length;
  }

  /** The file must stay the one that was opened: bytes of two of them make wrong numbers that look right. */
  #hold(response: Response, bytes: number | undefined): void {
    const tag = response.headers.get("etag")?.replace(/^W\//, "") ?? response.headers.get("last-modified") ?? undefined;
    const other = (tag !== undefined && this.#tag !== undefined && tag !== this.#tag) ||
      (bytes !== undefined && this.#bytes !== undefined && bytes !== this.#bytes);
    if (other) {
      throw new ProblemError(
        "changed",
        `\`${this.name}\` was changed on the server while it is open here`,
        "Open it again, to see the new one.",
      );
    }
    this.#tag ??= tag;
    this.#bytes ??= bytes;
  }

  async #ask(headers: Record<string, string>, signal: AbortSignal, method: "GET" | "HEAD" = "GET"): Promise<Response> {
    const direct = this.#landed;
    const response = await this.#send(direct ?? this.url, direct ? headers : { ...this.options.headers, ...headers }, signal, method);
    // What an address leads to may be valid for some time only.
    if (direct && !response.ok && response.status !== 416) {
      this.#landed = undefined;
      return this.#ask(headers, signal, method);
    }
    if (response.redirected && response.ok) this.#landed = response.url;
    return response;
  }

  async #send(url: string, headers: Record<string, string>, signal: AbortSignal, method: string): Promise<Response> {
    try {
      return await this.#fetch(url, { method, headers, signal, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer" });
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      throw await unreachable(this.name, url, this.#fetch);
    }
  }

  async #body(response: Response): Promise<ArrayBuffer> {
    try {
      return await response.arrayBuffer();
    } catch (error) {
      if (isAbort(error)) throw error;
      throw cut(this.name, this.url);
    }
  }

  /** Tries again what may pass. */
  async #retrying<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (const pause of this.#pauses) {
      try {
        return await attempt();
      } catch (error) {
        signal.throwIfAborted();
        const again = retryable(error);
        if (!again) throw error instanceof TypeError ? cut(this.name, this.url) : error;
        await sleep(Math.min(again.afterMs ?? pause, MOST_PAUSE_MS), signal);
      }
    }
    try {
      return await attempt();
    } catch (error) {
      if (isAbort(error) || error instanceof ProblemError) throw error;
      throw cut(this.name, this.url);
    }
  }
}

function exactly(bytes: Uint8Array, name: string, start: number, end: number): Uint8Array {
  if (bytes.length !== end - start) throw tooShort(name, start, end, bytes.length);
  return bytes;
}

function cut(name: string, url: string): ProblemError {
  return new ProblemError(
    "unreachable",
    `\`${name}\`: the connection to ${hostOf(url)} was cut`,
    "What was read stays. Try again when the server is back.",
  );
}

/** Whether an error may pass, and after how long. */
function retryable(error: unknown): { afterMs?: number } | undefined {
  // A body that breaks off is a TypeError of the stream.
  if (error instanceof TypeError) return {};
  if (!(error instanceof ProblemError)) return undefined;
  const { code } = error.problem;
  if (code === "too-many-requests" || code === "server" || code === "too-short") {
    const afterMs = (error as { afterMs?: number }).afterMs;
    return afterMs === undefined ? {} : { afterMs };
  }
  return undefined;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => (signal.removeEventListener("abort", end), resolve()), ms);
    signal.addEventListener("abort", end, { once: true });
  });
}

/** The first bytes of a body, at most so many; the rest is not waited for. */
async function firstBytes(response: Response, most: number, enough: AbortController): Promise<Uint8Array> {
  if (!response.body) return new Uint8Array();
  const reader = response.body.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  while (length < most) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
  }
  if (length >= most) {
    // Ends the request; an answer that was complete does not mind.
    await reader.cancel().catch(() => undefined);
    enough.abort();
  }
  const all = new Uint8Array(Math.min(length, most));
  let at = 0;
  for (const part of parts) {
    all.set(part.subarray(0, all.length - at), at);
    at = Math.min(all.length, at + part.length);
  }
  return all;
}

/** `bytes 0-7/1000`: from, to (not included), and how many there are in all. */
export function contentRange(header: string | null): { start: number; end: number; total: number | undefined } | undefined {
  const found = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(header ?? "");
  if (!found) return undefined;
  const [, first, last, total] = found;
  return { start: Number(first), end: Number(last) + 1, total: total === "*" ? undefined : Number(total) };
}
