import { BlockList, isIPv6, Socket } from 'node:net';
import process from 'node:process';

const thisMachine = new BlockList();
thisMachine.addSubnet('127.0.0.0', 8);
// Both lead to a listener on loopback.
thisMachine.addAddress('0.0.0.0');
thisMachine.addAddress('::1', 'ipv6');

const isThisMachine = (address: string): boolean =>
  thisMachine.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

interface Target {
  readonly host?: string;
  readonly port?: number | string;
  /** Of a Unix socket. */
  readonly path?: string | null;
}

/** What `connect` is given: an object, a port and a host, or a list that Node has made of either. */
function targetOf([first, second]: readonly unknown[]): Target {
  if (Array.isArray(first)) return first[0] as Target;
  if (typeof first === 'object' && first !== null) return first;
  return { port: first as number, ...(typeof second === 'string' && { host: second }) };
}

/**
 * From now on this thread connects to no port of the run's own but those that its variables name. In AWS nothing that a
 * function runs on is at an address that it could reach; here a permitted outbound host may be this very machine.
 * @param ports one element a port, 1 where the run listens; it may change
 */
export function rejectOwnPorts(ports: Uint8Array): void {
  const named = new Set(
    Object.entries(process.env)
      .filter(([name]) => name.startsWith('AWS_ENDPOINT_URL'))
      .map(([, url = '']) => Number(URL.parse(url)?.port)),
  );
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function rejecting(this: Socket, ...given: unknown[]) {
    const { host = 'localhost', port, path } = targetOf(given);
    const number = Number(port);
    if (!path && !named.has(number)) {
      const reject = (address: string) => {
        if (ports[number] === 1 && isThisMachine(address))
          this.destroy(
            Object.assign(new Error(`connect ECONNREFUSED ${address}:${port}`), { code: 'ECONNREFUSED' }),
          );
      };
      // Not told for an address that was no name. Node connects in the next turn too, after its caller listens for errors.
      process.nextTick(reject, host);
      this.on('lookup', (_error, address) => reject(address));
    }
    return Reflect.apply(connect, this, given) as Socket;
  } as typeof connect;
}
