import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
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

/**
 * @param port 0 takes any free port
 * @throws UnusablePort if the port is in use, or only for root
 */
export async function listenOnLoopback(server: Server, port = 0): Promise<Listening> {
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
