// The page as a whole: what the route says is opened, listed and shown.

import type { FoundFault } from "blockscale-wasm";
import { problemOf, wasCancelled } from "./client/client.ts";
import { whenIdle } from "./client/idle.ts";
import { Kept } from "./client/kept.ts";
import { type Openable, type OpenOptions, Session } from "./client/session.ts";
import { h } from "./dom.ts";
import { ListPanel } from "./list/panel.ts";
import type { Opened } from "./opened.ts";
import type { Page } from "./pages/page.ts";
import { MAIN } from "./protocol/calls.ts";
import type { ServedCheckpoint } from "./protocol/open.ts";
import { type Route, type RouteChange, Router } from "./route.ts";
import { Header } from "./shell/header.ts";
import { helpDialog } from "./shell/help.ts";
import { openingView } from "./shell/opening.ts";
import { problemBox } from "./shell/problem.ts";
import { StatusBar } from "./shell/status.ts";
import type { Chosen } from "./sources/drop.ts";
import { lineOf, type SourceRef, sourceOf } from "./sources/ref.ts";
import { acceptDrops, type Purpose, StartPage } from "./start/start.ts";
import { type Survey, Surveyor } from "./survey.ts";

/** What goes with another checkpoint when one is opened: all that tells of a tensor or picture. */
const NOTHING_SHOWN: RouteChange = {
  with: null, w: null, m: null, tab: null, nib: null, lay: null, glob: null, view: null, b: null, stat: null, q: null, fmt: null, sort: null,
};

/** Weights of a local checkpoint that are surveyed without being asked for, some 64 KiB of each. */
const SURVEYED_AT_ONCE = 1000;
const SURVEY_AFTER_MS = 500;

export interface AppOptions {
  /** Whether `blockscale view` serves the page. */
  served: "served" | "static";
}

export class App {
  readonly #router = new Router(window);
  readonly #header: Header;
  readonly #list: ListPanel;
  readonly #status = new StatusBar();
  readonly #main = h("main", { class: "main", id: "main", tabindex: -1 });
  readonly #live = h("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  readonly #help = helpDialog();
  readonly #shell: HTMLElement;
  readonly #kept = new Kept();
  #session: Session | undefined;
  #opening: { line: string; controller: AbortController } | undefined;
  #page: { kind: string; page: Page; shown: string } | undefined;
  #start: StartPage | undefined;
  #purpose: Purpose = "show";
  #surveyor: Surveyor | undefined;
  #stopWaiting: () => void = () => undefined;
  /** What the server of the page has. */
  #served: readonly ServedCheckpoint[] = [];

  constructor(
    root: HTMLElement,
    private readonly options: AppOptions,
  ) {
    this.#header = new Header({
      start: () => this.#router.go({ src: null, ...NOTHING_SHOWN }),
      model: () => this.#router.go({ w: null, tab: null, view: null, b: null, m: null }),
      toggleList: () => this.#toggleList(),
      filter: () => this.#focusFilter(),
      compare: () => this.#showStart("compare"),
      help: () => this.#help.showModal(),
    });
    this.#list = new ListPanel({
      choose: (weight) => this.#choose(weight),
      refine: (change) => this.#router.refine(change),
      survey: (what, weights) => void this.#survey(what, weights),
      stopSurvey: () => this.#surveyor?.stop(),
      readOn: (shards) => void this.#readOn(shards),
      announce: (text) => this.#announce(text),
    });
    const skip = h("a", { class: "skip visually-hidden", href: "#main", onclick: (event: MouseEvent) => (event.preventDefault(), this.#main.focus()) }, "Skip to the picture");
    this.#shell = h("div", { class: "shell bare" }, skip, this.#header.element, this.#list.element, this.#main, this.#status.element);
    root.append(this.#shell, this.#live, this.#help);
    acceptDrops(document.body, (chosen) => this.#openFiles(chosen));
    document.addEventListener("keydown", (event) => this.#key(event));
    this.#router.subscribe((route) => void this.#arrive(route));
  }

  /** Shows what the address says. */
  async start(): Promise<void> {
    if (!this.#router.route.src && this.options.served === "served") await this.#openServed();
    else await this.#arrive(this.#router.route);
  }

  async #arrive(route: Route): Promise<void> {
    const main = this.#session?.main;
    if (!route.src) {
      this.#opening?.controller.abort();
      this.#opening = undefined;
      return this.#showStart("show");
    }
    // Details may change while it opens; they are looked at once it is there.
    if (this.#opening?.line === lines(route)) return;
    if (!main || lineOf(main.source) !== route.src) return this.#openMain(route);
    const line = this.#session?.other && lineOf(this.#session.other.source);
    if (line !== route.with) return this.#openOther(route);
    this.#show(route);
  }

  async #openMain(route: Route): Promise<void> {
    const openable = this.#openable(route.src ?? "");
    if (!openable) return;
    const other = route.with === undefined ? undefined : sourceOf(route.with);
    await this.#attempt(openable.source, async (options) => {
      const session = await Session.start(openable.source, ...(other ? [other] : []));
      this.#listen(session);
      try {
        await session.open(MAIN, openable, options);
      } catch (error) {
        session.end();
        throw error;
      }
      this.#opening = undefined;
      this.#take(session);
      await this.#arrive(this.#router.route);
    });
  }

  async #openOther(route: Route): Promise<void> {
    const session = this.#session;
    if (!session) return;
    if (route.with === undefined) {
      await session.closeOther();
      this.#take(session);
      return this.#show(this.#router.route);
    }
    const openable = this.#openable(route.with);
    if (!openable) return;
    await this.#attempt(openable.source, async (options) => {
      const next = await session.openOther(openable, options);
      if (next !== session) this.#listen(next);
      this.#opening = undefined;
      this.#take(next);
      await this.#arrive(this.#router.route);
    });
  }

  /** Opens with progress on the page; a failure is said where something else can be opened. */
  async #attempt(source: SourceRef, open: (options: OpenOptions) => Promise<void>): Promise<void> {
    this.#opening?.controller.abort();
    const controller = new AbortController();
    const opening = { line: lines(this.#router.route), controller };
    this.#opening = opening;
    const view = openingView(source, () => {
      controller.abort();
      this.#opening = undefined;
      history.back();
    });
    this.#clear();
    this.#main.replaceChildren(view.element);
    try {
      await open({ signal: controller.signal, onStep: view.setStep });
    } catch (error) {
      if (controller.signal.aborted || wasCancelled(error)) return;
      this.#failed(source, error);
    } finally {
      if (this.#opening === opening) this.#opening = undefined;
    }
  }

  #failed(source: SourceRef, error: unknown): void {
    const problem = problemOf(error);
    this.#showStart(this.#session?.main && this.#router.route.with ? "compare" : "show");
    const retry = { label: "Try again", run: () => void this.#arrive(this.#router.route) };
    const token = { label: "Give a token", run: () => this.#start?.askForToken() };
    this.#start?.setAddress(source);
    this.#start?.setTrouble(problem, problem.code === "not-allowed" || problem.code === "not-found" ? [token, retry] : [retry]);
    this.#announce(problem.message);
  }

  /** What a line stands for; where that is not to be had, it is said. */
  #openable(line: string): Openable | undefined {
    const found = this.#kept.find(line);
    if ("source" in found) return found;
    this.#showStart(this.#session?.main ? "compare" : "show");
    this.#start?.setTrouble(found);
    return undefined;
  }

  async #openServed(): Promise<void> {
    const session = await Session.start();
    try {
      const checkpoints = await session.client.call("served", {});
      this.#served = checkpoints;
      const line = (role: string) => {
        const found = checkpoints.find((checkpoint) => checkpoint.role === role);
        return found ? lineOf({ kind: "served", id: found.id }) : null;
      };
      this.#router.refine({ src: line("checkpoint"), with: line("reference") });
    } catch (error) {
      this.#showStart("show");
      this.#start?.setTrouble(problemOf(error));
    } finally {
      session.end();
    }
  }

  #openFiles({ name, files }: Chosen): void {
    const source: SourceRef = { kind: "files", name };
    this.#kept.keep({ source, files });
    this.#open(source);
  }

  #open(source: SourceRef, token?: string): void {
    const line = lineOf(source);
    if (token) this.#kept.keep({ source, token });
    if (this.#purpose === "compare") this.#router.go({ with: line });
    // Dropping the file of a link shows what the link shows; the same once more is read anew.
    else if (line === this.#router.route.src) void this.#openMain(this.#router.route);
    else this.#router.go({ ...NOTHING_SHOWN, src: line });
  }

  #listen(session: Session): void {
    session.client.traffic.add((traffic) => this.#status.setTraffic(traffic));
    session.client.jobs.add((jobs) => this.#status.setJobs(jobs));
    void session.client.call("engine", {}).then((engine) => this.#status.setEngine(engine), () => undefined);
  }

  /** Goes on with another session; the pages of the one before end. */
  #take(session: Session): void {
    this.#clear();
    if (this.#session !== session) this.#session?.end();
    this.#session = session;
    this.#purpose = "show";
    this.#changed();
  }

  /** What is open has changed. */
  #changed(): void {
    const { main, other } = this.#session ?? {};
    this.#clear();
    this.#status.setTotal(sizeOf(main), sizeOf(other));
    this.#surveyor?.stop();
    if (!this.#session || !main) return;
    const surveyor = new Surveyor(this.#session, main);
    surveyor.changed.add((state) => this.#list.setMeasured(surveyor.columns, state));
    surveyor.found.add((findings) => this.#setFindings(main, findings));
    this.#surveyor = surveyor;
    this.#list.show(main, other, this.#router.route);
    this.#surveySmall(this.#session, main, surveyor);
  }

  #show(route: Route): void {
    const session = this.#session;
    const main = session?.main;
    if (!session || !main) return;
    this.#shell.classList.remove("bare");
    this.#header.show(main, session.other);
    this.#start = undefined;
    this.#list.update(route);
    document.title = [route.w, main.name, "blockscale"].filter(Boolean).join(" · ");
    if (route.w !== undefined && main.names.find(route.w) === undefined) {
      this.#clear();
      const box = problemBox({ code: "not-found", message: `\`${main.name}\` has no tensor \`${route.w}\``, advice: "Choose one from the list." });
      this.#main.replaceChildren(h("div", { class: "notice" }, box));
      return;
    }
    const kind = route.w === undefined ? "model" : "tensor";
    if (this.#page?.kind === kind) {
      // What the list is narrowed to does not touch the page.
      const shown = pageKey(route);
      if (this.#page.shown === shown) return;
      this.#page.shown = shown;
      return this.#page.page.update(route);
    }
    if (this.#surveyor) void this.#mount(kind, session, main, this.#surveyor);
  }

  async #mount(kind: "model" | "tensor", session: Session, main: Opened, surveyor: Surveyor): Promise<void> {
    this.#clear();
    const token = {};
    this.#mounting = token;
    const { mount } = await (kind === "tensor" ? import("./pages/tensor/index.ts") : import("./pages/model/index.ts"));
    // Something else may have been chosen meanwhile.
    if (this.#mounting !== token) return;
    this.#main.replaceChildren();
    const page = mount(this.#main, {
      client: session.client,
      router: this.#router,
      main,
      other: session.other,
      surveyor,
      timed: (ms) => this.#status.setTime(ms),
      announce: (text) => this.#announce(text),
    });
    this.#page = { kind, page, shown: pageKey(this.#router.route) };
  }

  #mounting: object | undefined;

  #clear(): void {
    this.#mounting = undefined;
    this.#page?.page.destroy();
    this.#page = undefined;
  }

  #showStart(purpose: Purpose): void {
    this.#purpose = purpose;
    this.#clear();
    this.#shell.classList.toggle("bare", purpose === "show");
    if (purpose === "show") this.#header.show(undefined, undefined);
    this.#start = new StartPage(
      { open: (source, token) => this.#open(source, token), openFiles: (chosen) => this.#openFiles(chosen) },
      { purpose, addresses: this.options.served === "served" ? "none" : "any", served: this.#served },
    );
    document.title = "blockscale";
    this.#main.replaceChildren(this.#start.element);
  }

  async #survey(what: Survey, weights: Uint32Array): Promise<void> {
    try {
      await this.#surveyor?.run(what, weights);
    } catch (error) {
      this.#list.say(sentenceOf(error));
    }
  }

  /** Findings that reading has added. Pages listen for them on their own. */
  #setFindings(main: Opened, findings: FoundFault[]): void {
    if (findings.length === main.findings.length) return;
    main.findings = findings;
    this.#list.setFindings(findings);
  }

  /** Surveys on its own what is near and small: faults then show without being asked for. */
  #surveySmall(session: Session, main: Opened, surveyor: Surveyor): void {
    this.#stopWaiting();
    if (main.reach !== "local" || main.table.length > SURVEYED_AT_ONCE) return;
    const all = Uint32Array.from({ length: main.table.length }, (_, weight) => weight);
    this.#stopWaiting = whenIdle(session.client, SURVEY_AFTER_MS, () => {
      if (surveyor === this.#surveyor) void this.#survey("weights", all);
    });
  }

  async #readOn(shards: number): Promise<void> {
    const session = this.#session;
    try {
      await session?.readOn(shards);
      if (session !== this.#session) return;
      this.#changed();
      this.#show(this.#router.route);
    } catch (error) {
      if (!wasCancelled(error)) this.#list.say(sentenceOf(error));
    }
  }

  #choose(weight: number): void {
    const name = this.#session?.main?.names.name(weight);
    if (name === undefined) return;
    this.#toggleList("closed");
    this.#router.go({ w: name, m: null, view: null, b: null });
  }

  #toggleList(to?: "closed"): void {
    const open = to === undefined && !this.#shell.classList.contains("list-open") ? "open" : "closed";
    this.#shell.classList.toggle("list-open", open === "open");
    this.#header.setListOpen(open);
  }

  #focusFilter(): void {
    if (!this.#session?.main) return;
    if (matchMedia("(max-width: 720px)").matches && !this.#shell.classList.contains("list-open")) this.#toggleList();
    this.#list.focusFilter();
  }

  #key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "/") this.#focusFilter();
    else if (event.key === "?") this.#help.showModal();
    else return;
    event.preventDefault();
  }

  #announce(text: string): void {
    this.#live.textContent = text;
  }
}

/** The part of a route that a page shows. */
function pageKey({ q: _q, fmt: _fmt, sort: _sort, ...route }: Route): string {
  return JSON.stringify(route);
}

function sentenceOf(error: unknown): string {
  const { message, advice = "" } = problemOf(error);
  return `${message}. ${advice}`;
}

/** Which checkpoints a route names. */
function lines({ src, with: other }: Route): string {
  return JSON.stringify([src, other]);
}

function sizeOf(opened: Opened | undefined): number {
  return opened?.summary.shards.reduce((sum, shard) => sum + shard.bytes, 0) ?? 0;
}
