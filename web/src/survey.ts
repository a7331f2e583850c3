// What was measured of many weights so far, for the list and the page of the model.

import type { FoundFault } from "blockscale-wasm";
import { wasCancelled } from "./client/client.ts";
import { Listeners } from "./client/listeners.ts";
import type { Session } from "./client/session.ts";
import type { Opened } from "./opened.ts";
import { MAIN } from "./protocol/calls.ts";
import { SCALE_COLUMNS, type SurveyColumns } from "./protocol/survey.ts";

/** Requests are small, so that the list shows them soon; of many weights they are fewer. */
const LEAST_BATCH = 32;
const MOST_BATCHES = 128;

/** Entry `i` of each is weight `i`, NaN where it was not measured or has no such number. */
export type Columns = SurveyColumns & { sqnr: Float64Array };
export type Survey = "weights" | "errors";

export interface SurveyState {
  /** What is measured now: how many of how many. */
  running: { what: Survey; done: number; total: number } | undefined;
  measured: Record<Survey, number>;
}

export class Surveyor {
  readonly columns: Columns;
  /** Told after each batch, and at the end. */
  readonly changed = new Listeners<SurveyState>();
  /** Told of findings, what was measured included. */
  readonly found = new Listeners<FoundFault[]>();
  #state: SurveyState = { running: undefined, measured: { weights: 0, errors: 0 } };
  #controller: AbortController | undefined;

  constructor(
    private readonly session: Session,
    private readonly main: Opened,
  ) {
    const column = () => new Float64Array(main.table.length).fill(Number.NaN);
    this.columns = Object.fromEntries([...SCALE_COLUMNS, "sqnr"].map((name) => [name, column()])) as Columns;
  }

  get state(): SurveyState {
    return this.#state;
  }

  /** Measures weights; what was measured stays when it is stopped. Rejects where reading fails. */
  async run(what: Survey, weights: Uint32Array): Promise<void> {
    this.stop();
    const controller = new AbortController();
    this.#controller = controller;
    const { signal } = controller;
    const wanted = what === "errors" ? weights.filter((weight) => this.#other(weight) !== undefined) : weights;
    const batch = Math.max(LEAST_BATCH, Math.ceil(wanted.length / MOST_BATCHES));
    try {
      for (let from = 0; from < wanted.length; from += batch) {
        this.#tell({ running: { what, done: from, total: wanted.length } });
        await this.#batch(what, wanted.slice(from, from + batch), signal);
      }
      if (what === "weights") this.found.tell(await this.session.client.call("surveyFindings", { checkpoint: MAIN }, { signal }));
    } catch (error) {
      if (!wasCancelled(error)) throw error;
    } finally {
      if (this.#controller === controller) this.#tell({ running: undefined });
    }
  }

  stop(): void {
    this.#controller?.abort();
  }

  async #batch(what: Survey, weights: Uint32Array, signal: AbortSignal): Promise<void> {
    const { client } = this.session;
    const found = what === "weights"
      ? await client.call("survey", { checkpoint: MAIN, weights }, { signal })
      : await client.call("surveyErrors", { weights, others: weights.map((weight) => this.#other(weight) ?? 0) }, { signal });
    for (const [name, values] of Object.entries(found) as [keyof Columns, Float64Array][]) {
      for (const [at, weight] of weights.entries()) this.columns[name][weight] = values[at] ?? Number.NaN;
    }
    const measured = { ...this.#state.measured };
    measured[what] += weights.length;
    this.#tell({ measured });
  }

  #other(weight: number): number | undefined {
    return this.session.other?.names.find(this.main.names.name(weight));
  }

  #tell(change: Partial<SurveyState>): void {
    this.#state = { ...this.#state, ...change };
    this.changed.tell(this.#state);
  }
}
