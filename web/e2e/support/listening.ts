// Servers on ports of this machine.

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Served {
  /** Its address, with a slash at the end. */
  url: string;
  /** Ends it and all connections. */
  close(): Promise<void>;
}

export function listening(server: Server): Promise<Served> {
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      resolve({ url: `http://127.0.0.1:${port}/`, close });
    });
  });
}
