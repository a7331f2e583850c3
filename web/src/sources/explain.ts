// Why a server did not give what it was asked for, and what to do.

import { ProblemError } from "../protocol/problem.ts";

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** An answer that is no success. */
export async function refused(name: string, url: string, response: Response): Promise<ProblemError> {
  const host = hostOf(url);
  // Ends the body: what a server says in it is not shown.
  await response.body?.cancel().catch(() => undefined);
  switch (response.status) {
    case 401:
      return new ProblemError("not-allowed", `\`${name}\`: ${host} asks who you are (401)`, "Give a token with read access, and accept the model's terms on its page if it has any.");
    case 403:
      return new ProblemError("not-allowed", `\`${name}\`: ${host} refuses access (403)`, "The token lacks access to this model, or its terms were not accepted, or a link has expired. Open it again with another token.");
    case 404:
    case 410:
      return new ProblemError("not-found", `\`${name}\`: ${host} has no such file (${response.status})`, "Check the address, the model's name and the revision. A private model looks the same without a token.");
    case 412:
      return new ProblemError("changed", `\`${name}\` was changed on the server while it is open here`, "Open it again, to see the new one.");
    case 416:
      return new ProblemError("too-short", `\`${name}\`: ${host} says that the file is shorter than that (416)`, "The file is shorter than its header says, or was changed. Open it again.");
    case 429: {
      const problem = new ProblemError("too-many-requests", `\`${name}\`: ${host} asks for fewer requests (429)`, "Wait a minute and try again. With a token a Hub allows more.");
      return Object.assign(problem, retryAfter(response));
    }
    default:
      break;
  }
  if (response.status >= 500) {
    const problem = new ProblemError("server", `\`${name}\`: ${host} has a fault of its own (${response.status})`, "What was read stays. Try again in a while.");
    return Object.assign(problem, retryAfter(response));
  }
  return new ProblemError("other", `\`${name}\`: ${host} answered ${response.status}`, "That is no answer to a request for a file. Check the address.");
}

function retryAfter(response: Response): { afterMs?: number } {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return Number.isNaN(seconds) ? {} : { afterMs: seconds * 1000 };
}

export function withoutRanges(name: string, url: string): ProblemError {
  return new ProblemError(
    "no-ranges",
    `\`${name}\`: ${hostOf(url)} ignores ranges and would send the whole file`,
    "Serve it with a server that knows ranges (nginx, caddy, `blockscale view`), or download the file and drop it here.",
  );
}

/** Addresses that the policy of the page has stopped, the one asked for where a redirect led on from it. */
const stopped = new Set<string>();

/** Takes note of a request that the policy of the page has stopped. */
export function noteStopped(address: string): void {
  if (URL.canParse(address)) stopped.add(new URL(address).host);
}

/** Why no answer came: a browser does not say, so it is found out what still works. */
export async function unreachable(name: string, url: string, ask: typeof fetch): Promise<ProblemError> {
  const host = hostOf(url);
  // The note of a stopped request may come after its end.
  await new Promise((resolve) => setTimeout(resolve));
  if (stopped.has(host)) {
    return new ProblemError(
      "elsewhere",
      `\`${name}\`: ${host} sends on to another host, and this page reads only from the one that you opened`,
      "Open the address that it leads to, as a browser's download list or `curl -I` shows it.",
    );
  }
  if (globalThis.origin?.startsWith("https:") && url.startsWith("http:") && !isLoopback(url)) {
    return new ProblemError("unreachable", `\`${name}\`: a page over https may not read from ${host} over http`, "Use an https address, or `blockscale view` on the machine that has the files.");
  }
  try {
    // Without permission for other sites an answer stays closed, but it does come.
    await ask(url, { method: "HEAD", mode: "no-cors", cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer" });
  } catch {
    return new ProblemError("unreachable", `\`${name}\`: ${host} does not answer`, "Is the address right, the server running, the network there? What was read stays; try again.");
  }
  return new ProblemError(
    "unreachable",
    `\`${name}\`: ${host} does not allow other sites to read its files (CORS)`,
    "The server has to send `Access-Control-Allow-Origin` and to allow the header `Range`. Else download the file and drop it here, or run `blockscale view` beside it.",
  );
}

function isLoopback(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}
