import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { claimPort, releasePort } from './runner-ports.ts';

export interface Listening {
  readonly endpoint: string;
  /** Also closes open connections. */
  close(): Promise<void>;
}

/**
 * @param port 0 takes any free port
 * @throws Error if the port is in use
 */
export async function listenOnLoopback(server: Server, port = 0): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new Error(`Port ${port} is in use`) : error),
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
