import { expect, test } from "vitest";
import { addressesOf } from "../src/sources/addresses.ts";
import { addressOf, DEFAULT_ENDPOINT, lineOf, type SourceRef, sourceOf } from "../src/sources/ref.ts";

const HUB = { kind: "hub", endpoint: DEFAULT_ENDPOINT, model: "org/model", revision: "main" } as const;

const SOURCES: [SourceRef, line: string][] = [
  [HUB, "hub:org/model"],
  [{ ...HUB, revision: "refs/pr/3" }, "hub:org/model@refs/pr/3"],
  [{ ...HUB, endpoint: "https://mirror.example:8443/hf", revision: "v1.0" }, "hub:https://mirror.example:8443/hf/org/model@v1.0"],
  [{ kind: "url", url: "https://host/a b.safetensors?x=1" }, "url:https://host/a b.safetensors?x=1"],
  [{ kind: "files", name: "a: b.safetensors" }, "files:a: b.safetensors"],
  [{ kind: "served", id: "0" }, "served:0"],
  [{ kind: "sample", name: "wrong-order" }, "sample:wrong-order"],
];

test.each(SOURCES)("%o is one line and comes back from it", (source, line) => {
  expect(lineOf(source)).toBe(line);
  expect(sourceOf(line)).toEqual(source);
});

test.each(["", "hub:", "hub:model", "url:javascript:alert(1)", "url:file:///etc/passwd", "sample:other", "nothing:here"])("`%s` names no source", (line) => {
  expect(sourceOf(line)).toBeUndefined();
});

test.each([
  ["org/model", HUB],
  [" org/model@v2 ", { ...HUB, revision: "v2" }],
  ["https://huggingface.co/org/model", HUB],
  ["https://huggingface.co/org/model/tree/v2", { ...HUB, revision: "v2" }],
  ["https://host/model.safetensors", { kind: "url", url: "https://host/model.safetensors" }],
])("`%s` is understood as typed", (text, source) => {
  expect(addressOf(text, DEFAULT_ENDPOINT)).toEqual(source);
});

test("a model is looked for on the Hub that was set", () => {
  expect(addressOf("org/model", "https://mirror.example/")).toEqual({ ...HUB, endpoint: "https://mirror.example" });
});

test("what is typed and names nothing is refused", () => {
  for (const text of ["model", "a/b/c", "ftp://host/a", "https://", "/etc/passwd"]) expect(addressOf(text, DEFAULT_ENDPOINT)).toBeUndefined();
});

test("a source needs the address it names and no other", () => {
  expect(addressesOf({ kind: "url", url: "https://host:1234/a/b.safetensors" })).toEqual(["https://host:1234"]);
  expect(addressesOf({ kind: "sample", name: "clean" })).toEqual([]);
  expect(addressesOf({ ...HUB, endpoint: "https://mirror.example/hf" })).toContain("https://mirror.example");
});
