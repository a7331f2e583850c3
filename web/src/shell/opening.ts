// What is shown while a checkpoint opens: how far it is, and a way out.

import { h } from "../dom.ts";
import type { Step } from "../protocol/calls.ts";
import type { SourceRef } from "../sources/ref.ts";
import { SAMPLE_TITLES } from "../sources/ref.ts";
import { whole } from "../units.ts";

export interface OpeningView {
  element: HTMLElement;
  setStep(step: Step): void;
}

export function openingView(source: SourceRef, cancel: () => void): OpeningView {
  const step = h("p", { class: "muted", role: "status" }, "starting");
  const bar = h("progress", { max: 1, "aria-label": "opening" });
  const element = h(
    "div",
    { class: "notice opening" },
    h("h2", {}, `Opening ${titleOf(source)}`),
    bar,
    step,
    h("button", { class: "button", type: "button", onclick: cancel }, "Cancel"),
  );
  return {
    element,
    setStep({ what, done, total }) {
      step.textContent = total > 0 ? `${what}: ${whole(done)} of ${whole(total)}` : what;
      if (total > 0) bar.value = done / total;
      else bar.removeAttribute("value");
    },
  };
}

function titleOf(source: SourceRef): string {
  switch (source.kind) {
    case "files":
      return source.name;
    case "url":
      return source.url;
    case "hub":
      return `${source.model}@${source.revision}`;
    case "served":
      return "the checkpoint of this server";
    case "sample":
      return SAMPLE_TITLES[source.name];
  }
}
