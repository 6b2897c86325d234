import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LocalServer {
  port: number;
  url: string;
  /** Ends the server, and cuts its open connections. */
  close(): Promise<void>;
}

/** Starts a server on a free port of this machine. */
export async function listenLocally(server: Server): Promise<LocalServer> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
