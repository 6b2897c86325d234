import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { claimPort, releasePort } from './own-ports.ts';

export interface Listening {
  readonly endpoint: string;
  /** Ends open connections too. */
  close(): Promise<void>;
}

/** @param port any free one unless given */
export async function listenOnLoopback(server: Server, port = 0): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new Error(`Port ${port} is in use`) : error),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: own } = server.address() as AddressInfo;
  claimPort(own);
  return {
    endpoint: `http://127.0.0.1:${own}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          releasePort(own);
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
