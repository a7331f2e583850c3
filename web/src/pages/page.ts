// What a page is: mounted into an element, told when the route changes, and taken down.

import type { Client } from "../client/client.ts";
import type { Opened } from "../opened.ts";
import type { Route, Router } from "../route.ts";
import type { Surveyor } from "../survey.ts";

export interface PageContext {
  client: Client;
  router: Router;
  /** The checkpoint that is shown. */
  main: Opened;
  /** The one that it is compared with, once it is open. */
  other: Opened | undefined;
  /** What was measured of many weights, and more of it where it is asked for. */
  surveyor: Surveyor;
  /** Says in the status bar how long the last picture took. */
  timed(ms: number): void;
  /** Says something to a screen reader, politely. */
  announce(text: string): void;
}

export interface Page {
  /** The route changed, and the page is still the one to show. */
  update(route: Route): void;
  /** Takes the page down; what it waits for is to be cancelled. */
  destroy(): void;
}

export type Mount = (root: HTMLElement, context: PageContext) => Page;
