// A model on a Hub that speaks Hugging Face's API: one request lists its files with their sizes.

import { ProblemError } from "../protocol/problem.ts";
import type { HttpOptions } from "./http.ts";
import { HttpFiles } from "./http_files.ts";
import type { ListedFile, Source } from "./source.ts";

export interface HubModel {
  endpoint: string;
  model: string;
  revision: string;
}

interface ModelInfo {
  sha?: unknown;
  siblings?: { rfilename?: unknown; size?: unknown; lfs?: { size?: unknown } | null }[];
}

export class Hub implements Source {
  readonly reach = "remote";
  readonly name: string;
  readonly #files: HttpFiles;

  constructor(
    private readonly hub: HubModel,
    token: string | undefined,
    options: HttpOptions = {},
  ) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    this.#files = new HttpFiles({ ...options, headers });
    this.name = hub.model;
  }

  async list(signal: AbortSignal): Promise<ListedFile[]> {
    const { endpoint, model, revision } = this.hub;
    const label = `${model}@${revision}`;
    this.#files.add(label, `${endpoint}/api/models/${model}/revision/${encodeURIComponent(revision)}?blobs=true`);
    const info = parsed(await this.#files.all(label, signal), label);
    // All files of one commit, even if the branch moves on meanwhile.
    const commit = typeof info.sha === "string" ? info.sha : revision;
    const files = (info.siblings ?? []).flatMap((file) => {
      const bytes = file.lfs?.size ?? file.size;
      const known = typeof file.rfilename === "string" && typeof bytes === "number";
      return known ? [{ name: file.rfilename as string, bytes }] : [];
    });
    for (const { name } of files) {
      const path = name.split("/").map(encodeURIComponent).join("/");
      this.#files.add(name, `${endpoint}/${model}/resolve/${encodeURIComponent(commit)}/${path}`);
    }
    return files;
  }

  read(file: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    return this.#files.read(file, start, end, signal);
  }
}

function parsed(bytes: Uint8Array, label: string): ModelInfo {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as ModelInfo;
  } catch {
    throw new ProblemError("contents", `\`${label}\`: the list of files is no JSON`, "Is the endpoint that of a Hub? It is set beside the address field.");
  }
}
