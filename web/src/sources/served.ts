// The checkpoint that `blockscale view` serves beside the page.

import type { ServedCheckpoint } from "../protocol/open.ts";
import { ProblemError } from "../protocol/problem.ts";
import { HttpFile, type HttpOptions } from "./http.ts";
import { HttpFiles } from "./http_files.ts";
import type { ListedFile, Source } from "./source.ts";

interface Listing {
  checkpoints: (ServedCheckpoint & { files: { name: string; bytes: number; url: string }[] })[];
}

/** What the server of the page has. */
export async function servedCheckpoints(page: string, signal: AbortSignal): Promise<ServedCheckpoint[]> {
  const { checkpoints } = await listing(new HttpFile(LIST, new URL(LIST_PATH, page).href), signal);
  return checkpoints.map(({ id, role, name }) => ({ id, role, name }));
}

const LIST = "list of checkpoints";
const LIST_PATH = "api/checkpoints";

async function listing(file: HttpFile, signal: AbortSignal): Promise<Listing> {
  return JSON.parse(new TextDecoder().decode(await file.all(signal))) as Listing;
}

export class Served implements Source {
  /** Over a tunnel as well: reading costs a connection. */
  readonly reach = "remote";
  readonly #files: HttpFiles;
  #name = "checkpoint";

  constructor(
    private readonly id: string,
    private readonly page: string,
    options: HttpOptions = {},
  ) {
    this.#files = new HttpFiles(options);
  }

  get name(): string {
    return this.#name;
  }

  async list(signal: AbortSignal): Promise<ListedFile[]> {
    const { checkpoints } = await listing(this.#files.add(LIST, new URL(LIST_PATH, this.page).href), signal);
    const found = checkpoints.find(({ id }) => id === this.id);
    if (!found) {
      throw new ProblemError("not-found", `\`blockscale view\` serves no checkpoint \`${this.id}\``, "It was started with another path. Open the address that it printed.");
    }
    this.#name = found.name;
    for (const { name, url } of found.files) this.#files.add(name, new URL(url, this.page).href);
    return found.files.map(({ name, bytes }) => ({ name, bytes }));
  }

  read(file: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    return this.#files.read(file, start, end, signal);
  }
}
