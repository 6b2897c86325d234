import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * An address for a server that starts later. On Linux it has one of 16 million hosts, so that no other program can take
 * the port meanwhile, nor guess the address. Other systems have 127.0.0.1 alone.
 */
export function findFreeAddress(): Promise<Address> {
  const host =
    process.platform === 'linux'
      ? `127.${randomInt(1, 255)}.${randomInt(0, 256)}.${randomInt(1, 255)}`
      : '127.0.0.1';
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, host, () => {
      const address = probe.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      probe.close(() => resolve({ host, port }));
    });
  });
}
