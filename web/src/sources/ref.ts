// Where a checkpoint comes from, in one line that fits a link.

/** A source as the page names it. */
export type SourceRef =
  | { kind: "files"; name: string }
  | { kind: "url"; url: string }
  | { kind: "hub"; endpoint: string; model: string; revision: string }
  | { kind: "served"; id: string }
  | { kind: "sample"; name: SampleName };

export const SAMPLES = ["clean", "wrong-order", "ones"] as const;
export type SampleName = (typeof SAMPLES)[number];

export const SAMPLE_TITLES: Record<SampleName, string> = {
  clean: "Sample: clean",
  "wrong-order": "Sample: scales in the wrong order",
  ones: "Sample: a plane of ones",
};

export const DEFAULT_ENDPOINT = "https://huggingface.co";
export const DEFAULT_REVISION = "main";

/** The line of a source: `hub:org/model@revision`, `url:https://...`, `sample:clean`. */
export function lineOf(source: SourceRef): string {
  switch (source.kind) {
    case "files":
      return `files:${source.name}`;
    case "url":
      return `url:${source.url}`;
    case "served":
      return `served:${source.id}`;
    case "sample":
      return `sample:${source.name}`;
    case "hub": {
      const { endpoint, model, revision } = source;
      const at = revision === DEFAULT_REVISION ? "" : `@${revision}`;
      const elsewhere = endpoint === DEFAULT_ENDPOINT ? "" : `${endpoint}/`;
      return `hub:${elsewhere}${model}${at}`;
    }
  }
}

/** The source of a line that `lineOf` wrote; nothing where it is none. */
export function sourceOf(line: string): SourceRef | undefined {
  const colon = line.indexOf(":");
  const [kind, rest] = [line.slice(0, colon), line.slice(colon + 1)];
  if (colon < 0 || rest === "") return undefined;
  switch (kind) {
    case "files":
      return { kind, name: rest };
    case "url":
      return isWebAddress(rest) ? { kind, url: rest } : undefined;
    case "served":
      return { kind, id: rest };
    case "sample": {
      const name = SAMPLES.find((sample) => sample === rest);
      return name && { kind, name };
    }
    case "hub":
      return hubModel(rest, DEFAULT_ENDPOINT);
    default:
      return undefined;
  }
}

/** What a person typed into the address field, on the Hub at `endpoint` where it names a model. */
export function addressOf(text: string, endpoint: string): SourceRef | undefined {
  const typed = text.trim();
  if (isWebAddress(typed)) return modelPage(typed, endpoint) ?? { kind: "url", url: typed };
  return hubModel(typed, endpoint);
}

/** `org/model`, `org/model@revision`, each perhaps behind an endpoint. */
function hubModel(text: string, endpoint: string): SourceRef | undefined {
  const found = /^(?:(https?:\/\/.+)\/)?([\w.-]+\/[\w.-]+)(?:@([\w./-]+))?$/.exec(text);
  if (!found) return undefined;
  const [, elsewhere, model = "", revision = DEFAULT_REVISION] = found;
  return { kind: "hub", endpoint: trimmed(elsewhere ?? endpoint), model, revision };
}

/** A model's own page on a Hub, with or without `/tree/revision`. */
function modelPage(url: string, endpoint: string): SourceRef | undefined {
  for (const hub of new Set([trimmed(endpoint), DEFAULT_ENDPOINT])) {
    if (!url.startsWith(`${hub}/`)) continue;
    const path = url.slice(hub.length + 1).replace(/[?#].*$/, "").replace(/\/$/, "");
    const found = /^([\w.-]+\/[\w.-]+)(?:\/tree\/([\w./-]+))?$/.exec(path);
    if (found?.[1]) {
      return { kind: "hub", endpoint: hub, model: found[1], revision: found[2] ?? DEFAULT_REVISION };
    }
  }
  return undefined;
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^/]/.test(text) && URL.canParse(text);
}

function trimmed(endpoint: string): string {
  return endpoint.replace(/\/+$/, "");
}
