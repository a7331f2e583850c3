// From the line of a source to the source.

import type { OpenRequest } from "../protocol/open.ts";
import { Hub } from "./hub.ts";
import { LocalFiles } from "./local.ts";
import { Sample } from "./sample.ts";
import { Served } from "./served.ts";
import type { Source } from "./source.ts";
import { WebAddress } from "./url.ts";

/** The source that a request names. `page` is the address of the page itself. */
export function sourceFor(request: Omit<OpenRequest, "checkpoint">, page: string): Source {
  const { source } = request;
  switch (source.kind) {
    case "files":
      return new LocalFiles(source.name, request.files ?? []);
    case "url":
      return new WebAddress(source.url);
    case "hub":
      return new Hub(source, request.token);
    case "served":
      return new Served(source.id, page);
    case "sample":
      return new Sample(source.name, page);
  }
}
