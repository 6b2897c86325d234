import { BlockList, isIPv6, Socket } from 'node:net';
import process from 'node:process';

const thisMachine = new BlockList();
thisMachine.addSubnet('127.0.0.0', 8);
// A connection to 0.0.0.0 reaches a listener on 127.0.0.1.
thisMachine.addAddress('0.0.0.0');
thisMachine.addAddress('::1', 'ipv6');

const isThisMachine = (address: string): boolean =>
  thisMachine.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

interface Target {
  readonly host?: string;
  readonly port?: number | string;
  /** The path of a Unix socket. */
  readonly path?: string | null;
}

/** The arguments of `connect` may be, for example, an object, a port and a host, or Node's normalized array of them. */
function targetOf([first, second]: readonly unknown[]): Target {
  if (Array.isArray(first)) return first[0] as Target;
  if (typeof first === 'object' && first !== null) return first;
  return { port: first as number, ...(typeof second === 'string' && { host: second }) };
}

/**
 * Refuses a function's connections to the runner's ports, except to those in its AWS_ENDPOINT_URL variables: settings
 * such as outboundAllow may let agents reach this machine.
 * @param ports one element per port: 1 for a port of the runner; the elements may change
 */
export function rejectRunnerPorts(ports: Uint8Array): void {
  const allowedPorts = new Set(
    Object.entries(process.env)
      .filter(([name]) => name.startsWith('AWS_ENDPOINT_URL'))
      .map(([, url = '']) => Number(URL.parse(url)?.port)),
  );
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function rejecting(this: Socket, ...args: unknown[]) {
    const { host = 'localhost', port, path } = targetOf(args);
    const portNumber = Number(port);
    if (!path && !allowedPorts.has(portNumber)) {
      const reject = (address: string) => {
        if (ports[portNumber] === 1 && isThisMachine(address))
          this.destroy(
            Object.assign(new Error(`connect ECONNREFUSED ${address}:${port}`), { code: 'ECONNREFUSED' }),
          );
      };
      // The event `lookup` is not emitted for an IP address, so the host is checked here: in the next tick, when the
      // caller listens for errors.
      process.nextTick(reject, host);
      this.on('lookup', (_error, address) => reject(address));
    }
    return Reflect.apply(connect, this, args) as Socket;
  } as typeof connect;
}
