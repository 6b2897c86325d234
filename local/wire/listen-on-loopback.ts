import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rejectPages } from './reject-pages.ts';
import { claimPort, releasePort } from './runner-ports.ts';

export interface Listening {
  readonly endpoint: string;
  /** Also closes open connections. */
  close(): Promise<void>;
}

/** No server can listen on this port. The operator can choose another one. */
export class UnusablePort extends Error {
  constructor(port: number, code: string | undefined) {
    super(
      code === 'EACCES'
        ? `This user may not listen on port ${port}, because it is less than 1024`
        : `Port ${port} is in use`,
    );
    this.name = 'UnusablePort';
  }
}

export interface LoopbackPort {
  /** 0, which is the default, takes any free port. */
  readonly port?: number;
  /**
   * Only of ports for clients: origins whose pages may send requests, besides the port's own. `*`, the default of such a
   * port, allows every origin and host, as in AWS.
   */
  readonly pageOrigins?: readonly string[] | undefined;
}

/**
 * Listens on 127.0.0.1, for programs of this machine: pages of browsers are rejected.
 * @throws UnusablePort if the port is in use, or only for root
 */
export async function listenOnLoopback(
  server: Server,
  { port = 0, pageOrigins }: LoopbackPort = {},
): Promise<Listening> {
  rejectPages(server, pageOrigins && ((host) => [`http://${host}`, ...pageOrigins]));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE' || error.code === 'EACCES' ? new UnusablePort(port, error.code) : error,
      ),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: boundPort } = server.address() as AddressInfo;
  claimPort(boundPort);
  return {
    endpoint: `http://127.0.0.1:${boundPort}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          releasePort(boundPort);
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
