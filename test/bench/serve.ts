import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Listens, and prints the address. The process ends when its standard input ends, so it never outlives the process that
 * started it.
 */
export function serve(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  process.stdin.on('end', () => process.exit(0)).resume();
}
