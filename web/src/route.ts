// What is shown, as the part of the address behind `#`: a link opens the same picture.

/** Keys of the address and whose they are; all are optional. */
export type RouteKey =
  /** The checkpoint, as `lineOf` writes it, and the one that it is compared with. */
  | "src" | "with"
  /** The list: words, formats, order. */
  | "q" | "fmt" | "sort"
  /** The weight by name, its matrix, the tab of its page. */
  | "w" | "m" | "tab"
  /** How its bytes are read: nibbles, layout, global scale. */
  | "nib" | "lay" | "use" | "glob"
  /** The window of the picture, the block that is looked at. */
  | "view" | "b"
  /** What else a page keeps. */
  | "stat";

export type Route = Readonly<Partial<Record<RouteKey, string>>>;

const KEYS: readonly RouteKey[] = [
  "src", "with", "w", "m", "tab", "nib", "lay", "use", "glob", "view", "b", "stat", "q", "fmt", "sort",
];

/** The route of an address's hash. Unknown keys are left out. */
export function parseRoute(hash: string): Route {
  const params = new URLSearchParams(hash.replace(/^#\/?/, ""));
  const entries = KEYS.flatMap((key) => {
    const value = params.get(key);
    return value === null || value === "" ? [] : [[key, value] as const];
  });
  return Object.fromEntries(entries);
}

/** The hash of a route, keys always in the same order. */
export function routeHash(route: Route): string {
  const parts = KEYS.flatMap((key) => {
    const value = route[key];
    return value === undefined || value === "" ? [] : [`${key}=${escaped(value)}`];
  });
  return parts.length === 0 ? "#" : `#${parts.join("&")}`;
}

/** Only what has a meaning in a hash of pairs is escaped, so that a link can be read. */
function escaped(value: string): string {
  return encodeURIComponent(value).replace(/%(2F|3A|40|2C)/g, decodeURIComponent);
}

export type RouteChange = Partial<Record<RouteKey, string | null>>;

/** A route with some keys set, and those that are null left out. */
export function changed(route: Route, change: RouteChange): Route {
  const next: Record<string, string | null | undefined> = { ...route, ...change };
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value != null && value !== "")) as Route;
}

/** The route of the page, and those who want to know when it changes. */
export class Router {
  #route: Route;
  #listeners = new Set<(route: Route, before: Route) => void>();

  constructor(private readonly page: Window) {
    this.#route = parseRoute(page.location.hash);
    page.addEventListener("popstate", () => this.#arrive(parseRoute(page.location.hash)));
  }

  get route(): Route {
    return this.#route;
  }

  /** Goes elsewhere, as a new entry of the history: for what a person would go back from. */
  go(change: RouteChange): void {
    this.#set(change, "pushState");
  }

  /** Changes details, such as the window of a picture, without a new entry. */
  refine(change: RouteChange): void {
    this.#set(change, "replaceState");
  }

  subscribe(listener: (route: Route, before: Route) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #set(change: RouteChange, how: "pushState" | "replaceState"): void {
    const next = changed(this.#route, change);
    const hash = routeHash(next);
    if (hash === routeHash(this.#route)) return;
    this.page.history[how](null, "", hash);
    this.#arrive(next);
  }

  #arrive(next: Route): void {
    const before = this.#route;
    this.#route = next;
    for (const listener of [...this.#listeners]) listener(next, before);
  }
}
