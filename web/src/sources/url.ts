// A file, an index or a folder behind an address.

import { ProblemError } from "../protocol/problem.ts";
import type { HttpOptions } from "./http.ts";
import { HttpFiles } from "./http_files.ts";
import { CONFIGS, INDEX, type ListedFile, type Source } from "./source.ts";

/** Bytes that say how long a header of safetensors is. */
const PREFIX_BYTES = 8;
/** An index of more is not read: it only repeats what the headers of its shards say. */
const LARGE_INDEX_BYTES = 1 << 20;
const MOST_SHARDS = 10_000;
/** Enough of an index to see the name of a shard. */
const INDEX_START_BYTES = 4096;

interface Index {
  listed: ListedFile;
  shards: string[];
}

export class WebAddress implements Source {
  readonly reach = "remote";
  readonly name: string;
  readonly #files: HttpFiles;
  readonly #address: URL;
  readonly #file: string;
  /** What was read to learn a size. */
  readonly #known = new Map<string, Uint8Array>();

  constructor(url: string, options: HttpOptions = {}) {
    this.#files = new HttpFiles(options);
    this.#address = new URL(url);
    this.#address.hash = "";
    this.#file = decoded(this.#address.pathname.split("/").at(-1) ?? "");
    this.name = this.#file || this.#address.host + this.#address.pathname;
  }

  async list(signal: AbortSignal): Promise<ListedFile[]> {
    if (this.#file.endsWith(".safetensors") || this.#file.endsWith(".gguf")) return this.#single(this.#file, signal);
    if (this.#file.endsWith(".json")) return this.#sharded(await this.#index(this.#file, signal), signal);
    // A folder: with or without an index.
    if (!this.#address.pathname.endsWith("/")) this.#address.pathname += "/";
    const index = await this.#index(INDEX, signal).catch(unlessMissing);
    return index ? this.#sharded(index, signal) : this.#single("model.safetensors", signal);
  }

  async read(file: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    const known = this.#known.get(file);
    if (known && end <= known.length) return known.slice(start, end);
    return this.#files.read(file, start, end, signal);
  }

  async #single(name: string, signal: AbortSignal): Promise<ListedFile[]> {
    const [file, configs] = await Promise.all([this.#sized(name, signal), this.#configs(signal)]);
    return [...configs, file];
  }

  async #sharded({ listed, shards }: Index, signal: AbortSignal): Promise<ListedFile[]> {
    const [sized, configs] = await Promise.all([
      Promise.all(shards.map((shard) => this.#sized(shard, signal))),
      this.#configs(signal),
    ]);
    return [listed, ...configs, ...sized];
  }

  /** The shards that an index lists. Of a large one, one name of a shard tells all others. */
  async #index(name: string, signal: AbortSignal): Promise<Index> {
    const file = this.#files.add(name, this.#beside(name));
    const start = await this.#files.start(name, INDEX_START_BYTES, signal);
    const listed = { name, bytes: file.bytes ?? start.length };
    const numbered = listed.bytes > LARGE_INDEX_BYTES ? numberedShards(start) : undefined;
    if (numbered) return { listed, shards: numbered };
    const bytes = await this.#whole(name, signal);
    return { listed: { name, bytes: bytes.length }, shards: shardsOf(bytes, name) };
  }

  /** The configs beside the file, where there are any: a server may have none, or answer with a page. */
  async #configs(signal: AbortSignal): Promise<ListedFile[]> {
    const found = await Promise.all(
      CONFIGS.map(async (name) => {
        try {
          const bytes = await this.#whole(name, signal);
          return isObject(bytes) ? [{ name, bytes: bytes.length }] : [];
        } catch (error) {
          signal.throwIfAborted();
          if (error instanceof ProblemError) return [];
          throw error;
        }
      }),
    );
    return found.flat();
  }

  async #whole(name: string, signal: AbortSignal): Promise<Uint8Array> {
    const known = this.#known.get(name);
    if (known) return known;
    this.#files.add(name, this.#beside(name));
    const bytes = await this.#files.all(name, signal);
    this.#known.set(name, bytes);
    return bytes;
  }

  async #sized(name: string, signal: AbortSignal): Promise<ListedFile> {
    const file = this.#files.add(name, this.#beside(name));
    this.#known.set(name, await this.#files.start(name, PREFIX_BYTES, signal));
    return { name, bytes: file.bytes ?? 0 };
  }

  #beside(name: string): string {
    if (name === this.#file) return this.#address.href;
    const url = new URL(name.split("/").map(encodeURIComponent).join("/"), this.#address);
    // What signs one file does not fit another, but a key of the folder may.
    url.search = this.#address.search;
    return url.href;
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof ProblemError && error.problem.code === "not-found") return undefined;
  throw error;
}

function isObject(bytes: Uint8Array): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function shardsOf(bytes: Uint8Array, index: string): string[] {
  let map: unknown;
  try {
    map = (JSON.parse(new TextDecoder().decode(bytes)) as { weight_map?: unknown }).weight_map;
  } catch {
    map = undefined;
  }
  if (typeof map !== "object" || map === null) {
    throw new ProblemError("contents", `\`${index}\` is no index of shards`, "It has to be JSON with a `weight_map`. Give the address of a `.safetensors` or `.gguf` file, or of a folder with an index.");
  }
  const shards = [...new Set(Object.values(map as Record<string, unknown>))];
  return shards.filter((shard) => typeof shard === "string").filter(isInside);
}

/** Whether a name stays in its folder. */
function isInside(name: string): boolean {
  return name !== "" && !name.includes(":") && !name.includes("\\") && !name.split("/").some((part) => part === "" || part === "." || part === "..");
}

/** `model-00001-of-00160.safetensors` tells the names of all 160. */
function numberedShards(start: Uint8Array): string[] | undefined {
  const found = /"([^"/\\:]*-)(\d+)-of-(\d+)\.safetensors"/.exec(new TextDecoder().decode(start));
  const [, stem = "", number = "", count = ""] = found ?? [];
  if (!found || number.length !== count.length || Number(count) > MOST_SHARDS) return undefined;
  return Array.from({ length: Number(count) }, (_, at) => `${stem}${String(at + 1).padStart(number.length, "0")}-of-${count}.safetensors`);
}
