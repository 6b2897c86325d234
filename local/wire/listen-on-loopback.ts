import { randomInt } from 'node:crypto';
import type { Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { rejectPages } from './reject-pages.ts';

export interface Listening {
  readonly endpoint: string;
  /** Also closes open connections. */
  close(): Promise<void>;
}

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

interface LoopbackPort {
  /** 0, which is the default, takes any free port. */
  readonly port?: number;
  /**
   * Origins whose pages may send requests, besides the port's own; `*` allows every origin and host. If undefined, no
   * origin is allowed, not even the port's own.
   */
  readonly pageOrigins?: readonly string[] | undefined;
}

/**
 * Keeps requests whose `Origin` or host is not allowed from the listeners of `request` and `checkExpectation` that the
 * server has at the call.
 * @throws UnusablePort if the port is in use, or if this user may not listen on it
 */
export async function listenOnLoopback(
  server: Server,
  { port = 0, pageOrigins }: LoopbackPort = {},
): Promise<Listening> {
  rejectPages(server, pageOrigins && ((host) => [`http://${host}`, ...pageOrigins]));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isUnusable = error.code === 'EADDRINUSE' || error.code === 'EACCES';
      reject(isUnusable ? new UnusablePort(port, error.code) : error);
    });
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

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * On Linux the host is one of 16 million, so that another program is unlikely to take the port before its use or to
 * guess the address.
 */
export function findFreeAddress(): Promise<Address> {
  const host =
    process.platform === 'linux'
      ? `127.${randomInt(1, 255)}.${randomInt(0, 256)}.${randomInt(1, 255)}`
      : '127.0.0.1';
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, host, () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve({ host, port }));
    });
  });
}

/** One element per port: 1 if it is claimed as a port of the runner. Functions' threads share the array. */
export const runnerPorts = new Uint8Array(new SharedArrayBuffer(65_536));

export function claimPort(port: number): void {
  runnerPorts[port] = 1;
}

export function releasePort(port: number): void {
  runnerPorts[port] = 0;
}

export const portOf = (endpoint: string): number => Number(new URL(endpoint).port);
