// The line at the foot: bytes read, engine, time, and the work that goes on.

import type { Job } from "../client/client.ts";
import { h } from "../dom.ts";
import type { Traffic } from "../protocol/calls.ts";
import type { Engine } from "../protocol/open.ts";
import { bytes, exactBytes, milliseconds, percent, whole } from "../units.ts";

/** Work that is over sooner is not shown. */
const SHOWN_AFTER_MS = 150;

export class StatusBar {
  readonly element: HTMLElement;
  readonly #read = h("span");
  readonly #engine = h("span");
  readonly #time = h("span");
  readonly #network = h("span", { class: "offline" });
  readonly #work = h("span", { class: "work" });
  readonly #seen = new Map<number, number>();
  #total: [number, number] = [0, 0];
  #waiting: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.element = h("footer", { class: "status", "aria-label": "Status" }, this.#read, this.#engine, this.#time, this.#network, this.#work);
    const online = () => (this.#network.textContent = navigator.onLine ? "" : "offline");
    addEventListener("online", online);
    addEventListener("offline", online);
    online();
  }

  /** Bytes of the checkpoints that are open. */
  setTotal(main: number, other: number): void {
    this.#total = [main, other];
  }

  setTraffic({ read }: Traffic): void {
    const [sum, total] = [read[0] + read[1], this.#total[0] + this.#total[1]];
    this.#read.textContent = total > 0 ? `${bytes(sum)} of ${bytes(total)} read` : sum > 0 ? `${bytes(sum)} read` : "";
    this.#read.title = total > 0 ? `${exactBytes(sum)} of ${whole(total)}` : exactBytes(sum);
  }

  setEngine({ build }: Engine): void {
    this.#engine.textContent = build === "simd128" ? "WebAssembly, 128-bit vectors" : "WebAssembly";
  }

  /** How long the last picture took. */
  setTime(ms: number): void {
    this.#time.textContent = milliseconds(ms);
  }

  setJobs(jobs: readonly Job[]): void {
    const now = performance.now();
    const ids = new Set(jobs.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    for (const { id } of jobs) if (!this.#seen.has(id)) this.#seen.set(id, now);
    const long = jobs.filter(({ id }) => now - (this.#seen.get(id) ?? now) >= SHOWN_AFTER_MS);
    this.#draw(long);
    clearTimeout(this.#waiting);
    if (long.length < jobs.length) this.#waiting = setTimeout(() => this.setJobs(jobs), SHOWN_AFTER_MS);
  }

  #draw(jobs: readonly Job[]): void {
    const job = jobs.find(({ step }) => step !== undefined) ?? jobs[0];
    if (!job) {
      this.#work.replaceChildren();
      return;
    }
    const { step } = job;
    const words = step ? `${step.what}${step.total > 0 ? ` ${percent(step.done / step.total)}` : ""}` : "reading";
    const text = this.#work.querySelector(".words");
    if (text) text.textContent = words;
    else this.#work.replaceChildren(h("span", { class: "words" }, words), h("button", { class: "link", type: "button", onclick: () => this.#cancel() }, "Cancel"));
    this.#cancel = () => jobs.forEach((job) => job.cancel());
  }

  #cancel: () => void = () => undefined;
}
