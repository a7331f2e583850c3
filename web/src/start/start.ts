// The first page: drop, type an address, or look at a sample.

import "./start.css";
import { h } from "../dom.ts";
import { problemBox } from "../shell/problem.ts";
import { canPickFolder, type Chosen, fromDrop, fromFiles, fromFolderInput, pickFolder } from "../sources/drop.ts";
import { addressOf, DEFAULT_ENDPOINT, type SampleName, type SourceRef } from "../sources/ref.ts";

export interface StartEvents {
  open(source: SourceRef, token?: string): void;
  openFiles(chosen: Chosen): void;
}

/** What the page opens: the checkpoint to show, or one to compare with. */
export type Purpose = "show" | "compare";

export interface StartOptions {
  purpose: Purpose;
  /** Whether addresses of other hosts can be read: not where a server forbids it. */
  addresses: "any" | "none";
  /** Checkpoints that the server of the page has. */
  served: readonly { id: string; name: string }[];
}

const SAMPLES: readonly { name: SampleName; title: string; text: string }[] = [
  { name: "clean", title: "Clean", text: "NVFP4 as it should be: rows and columns of the weight show in its scales." },
  { name: "wrong-order", title: "Scales in the wrong order", text: "The same bytes, written in 128×4 tiles and read row by row. It loads, and computes noise." },
  { name: "ones", title: "A plane of ones", text: "Every scale is 1. It loads as well; each block has lost its size." },
];

export class StartPage {
  readonly element: HTMLElement;
  readonly #trouble = h("div", { class: "trouble" });
  readonly #address: HTMLInputElement;
  readonly #endpoint: HTMLInputElement;
  readonly #token: HTMLInputElement;

  constructor(
    private readonly events: StartEvents,
    options: StartOptions,
  ) {
    this.#address = h("input", { type: "text", class: "address", id: "address", placeholder: "org/model, org/model@revision, or https://…", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
    this.#endpoint = h("input", { type: "url", id: "endpoint", value: DEFAULT_ENDPOINT, autocomplete: "off", spellcheck: "false" });
    this.#token = h("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false" });
    const title = options.purpose === "show" ? "Look at the block scales of a checkpoint" : "Compare with another checkpoint";
    this.element = h(
      "section",
      { class: "start" },
      h("h1", {}, title),
      options.purpose === "show" && h("p", { class: "lead" }, "NVFP4, MXFP4, MXFP8, FP8 and integers in groups: safetensors and GGUF, read by ranges, as far as they are looked at."),
      this.#trouble,
      served(options.served, events),
      this.#dropTarget(),
      options.addresses === "any" ? this.#form() : h("p", { class: "muted" }, "Served by blockscale view, this page reads from no other host."),
      samples(events),
      h("p", { class: "promise" }, h("b", {}, "Nothing is uploaded."), " Files stay on this machine. The page may connect only to the address that you open: its content security policy forbids the rest."),
    );
  }

  /** Shows what went wrong with the last attempt. */
  setTrouble(...parts: Parameters<typeof problemBox> | []): void {
    const [problem, actions] = parts;
    this.#trouble.replaceChildren(...(problem ? [problemBox(problem, actions)] : []));
  }

  /** Fills the address, for another attempt with a token. */
  setAddress(source: SourceRef): void {
    if (source.kind === "hub") {
      this.#address.value = source.revision === "main" ? source.model : `${source.model}@${source.revision}`;
      this.#endpoint.value = source.endpoint;
    } else if (source.kind === "url") this.#address.value = source.url;
  }

  askForToken(): void {
    this.#token.closest("details")?.setAttribute("open", "");
    this.#token.focus();
  }

  #dropTarget(): HTMLElement {
    const files = h("input", { type: "file", multiple: true, hidden: true, "aria-hidden": "true", onchange: () => this.#take(fromFiles([...(files.files ?? [])])) });
    const folder = h("input", { type: "file", webkitdirectory: true, hidden: true, "aria-hidden": "true", onchange: () => this.#take(fromFolderInput([...(folder.files ?? [])])) });
    return h(
      "div",
      { class: "drop" },
      h("p", {}, "Drop files or a folder here"),
      h("div", { class: "drop-buttons" }, h("button", { class: "button", type: "button", onclick: () => files.click() }, "Choose files"), h("button", { class: "button", type: "button", onclick: () => void this.#folder(folder) }, "Choose a folder")),
      files,
      folder,
    );
  }

  async #folder(input: HTMLInputElement): Promise<void> {
    if (!canPickFolder()) return input.click();
    try {
      this.#take(await pickFolder());
    } catch (error) {
      // Closing the dialog is no failure.
      if ((error as Error).name !== "AbortError") input.click();
    }
  }

  #take(chosen: Chosen | undefined): void {
    if (chosen) this.events.openFiles(chosen);
  }

  #form(): HTMLElement {
    return h(
      "form",
      { class: "from-address", onsubmit: (event: SubmitEvent) => (event.preventDefault(), this.#submit()) },
      h("label", { for: "address" }, "Model on a Hub, or address"),
      h("div", { class: "line" }, this.#address, h("button", { class: "button primary", type: "submit" }, "Open")),
      h(
        "details",
        {},
        h("summary", {}, "Hub and token"),
        h("div", { class: "pair" }, h("label", { for: "endpoint" }, "Hub"), this.#endpoint, h("label", { for: "token" }, "Token"), this.#token),
        h("p", { class: "muted" }, "A token is needed for private and gated models only. It is kept in memory until this page is closed, and sent to the Hub alone."),
      ),
    );
  }

  #submit(): void {
    const endpoint = this.#endpoint.value.trim() || DEFAULT_ENDPOINT;
    const source = addressOf(this.#address.value, endpoint);
    if (!source || !URL.canParse(endpoint)) {
      return this.setTrouble({ code: "other", message: `\`${this.#address.value}\` is neither a model nor an address`, advice: "Write `org/model`, `org/model@revision`, or an address that starts with https://." });
    }
    this.events.open(source, this.#token.value.trim() || undefined);
  }
}

function samples(events: StartEvents): HTMLElement {
  const items = SAMPLES.map(({ name, title, text }) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "sample", onclick: () => events.open({ kind: "sample", name }) },
        h("img", { src: `samples/${name}.png`, width: 144, height: 96, alt: "" }),
        h("span", { class: "title" }, title),
        h("span", { class: "text" }, text),
      ),
    ),
  );
  return h("section", { class: "samples", "aria-label": "Samples" }, h("h2", {}, "Or a sample"), h("ul", {}, ...items));
}

function served(checkpoints: StartOptions["served"], events: StartEvents): HTMLElement | false {
  if (checkpoints.length === 0) return false;
  const items = checkpoints.map(({ id, name }) => h("li", {}, h("button", { class: "button", type: "button", onclick: () => events.open({ kind: "served", id }) }, name)));
  return h("section", { class: "served", "aria-label": "Served here" }, h("h2", {}, "Served here"), h("ul", {}, ...items));
}

/** Takes what is dropped anywhere on the page. */
export function acceptDrops(target: HTMLElement, take: (chosen: Chosen) => void): void {
  const over = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    target.classList.add("dropping");
  };
  const out = (event: DragEvent) => {
    if (!event.relatedTarget) target.classList.remove("dropping");
  };
  target.addEventListener("dragenter", over);
  target.addEventListener("dragover", over);
  target.addEventListener("dragleave", out);
  target.addEventListener("drop", (event) => {
    if (!event.dataTransfer) return;
    event.preventDefault();
    target.classList.remove("dropping");
    void fromDrop(event.dataTransfer).then((chosen) => chosen && take(chosen));
  });
}
