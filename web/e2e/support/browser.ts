// Chromium, started once, and pages in it that are watched for what must not happen.

import { readFileSync } from "node:fs";
import axeCore from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect, inject } from "vitest";

const BASE = ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** WebGPU on a software adapter: without these flags there is no adapter here. */
const GPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];

const browsers: { none?: Promise<Browser>; software?: Promise<Browser> } = {};

export function browser(gpu: "none" | "software" = "none"): Promise<Browser> {
  browsers[gpu] ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: gpu === "software" ? [...BASE, ...GPU] : BASE,
  });
  return browsers[gpu];
}

export interface PageOptions {
  gpu?: "none" | "software";
  hash?: string;
  width?: number;
  height?: number;
  scale?: number;
  colours?: "light" | "dark";
  motion?: "reduce" | "no-preference";
  /** Messages on the console that are expected, such as those of failed requests. */
  expected?: RegExp;
  /** The page, where it is not the one that was built. */
  url?: string;
}

export interface OpenPage {
  page: Page;
  /** Ends the page; fails if there were errors in it, or policies were broken. */
  close(): Promise<void>;
}

export async function openPage(options: PageOptions = {}): Promise<OpenPage> {
  const { hash = "", width = 1280, height = 800, scale = 1, colours = "light", motion = "reduce", expected, url = inject("page") } = options;
  const context = await (await browser(options.gpu)).newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: colours,
    reducedMotion: motion,
    acceptDownloads: true,
  });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.stack ?? error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !expected?.test(message.text())) errors.push(message.text());
  });
  page.setDefaultTimeout(10_000);
  await page.goto(url + hash);
  return {
    page,
    async close() {
      await context.close();
      expect(errors).toEqual([]);
    },
  };
}

interface Violation {
  id: string;
  help: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** Breaches of accessibility rules that axe finds in what is shown, or in one part of it. */
export async function axe(page: Page, part = "html"): Promise<string[]> {
  // As an evaluation of the tool, which the policy of the page does not forbid.
  await page.evaluate(axeCore.source);
  return page.evaluate(async (part) => {
    const { axe } = globalThis as unknown as { axe: { run(context: unknown, options: unknown): Promise<{ violations: Violation[] }> } };
    const { violations } = await axe.run(part, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`));
  }, part);
}

/** Drops files or folders of this machine on the page, as a person does. */
export async function drop(page: Page, ...paths: string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { width, height } = page.viewportSize() ?? { width: 800, height: 600 };
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await session.send("Input.dispatchDragEvent", { type, x: width / 2, y: height / 2, data });
  }
  await session.detach();
}

/** The most bytes that a process of pages, workers included, has held so far. */
export async function peakMemory(): Promise<number> {
  const session = await (await browser()).newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const peaks = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => {
    const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"));
    return Number(found?.[1]) * 1024;
  });
  return Math.max(...peaks);
}
