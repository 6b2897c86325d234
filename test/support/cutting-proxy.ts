import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * Where the proxy cuts a connection: before it forwards anything, in the middle of the request's body, after the whole
 * request, when the first byte of the response has come, in the head or in the body of the response. `repeat` cuts
 * nothing: it also sends the same bytes once more, on a connection of their own.
 */
export const cuts = [
  'before the request',
  'in the request',
  'after the request',
  'before the head',
  'in the head',
  'in the body',
  'repeat',
] as const;
export type Cut = (typeof cuts)[number];

/** Starts a TCP proxy between a client and a service. Each request has a connection of its own. */
export async function startCuttingProxy(upstreamPort: number) {
  let upstream = upstreamPort;
  let requests = 0;
  const next: Cut[] = [];
  const { promise: repeated, resolve: endRepeated } = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
  };
  const connectUpstream = (): Socket => track(connect(upstream, '127.0.0.1'));
  const server = createServer((client) => {
    track(client);
    // Clients open connections that they never use.
    client.once('data', (chunk) => {
      requests += 1;
      const cut = next.shift();
      if (cut === 'before the request') client.destroy();
      else {
        const copy = cut === 'repeat' ? connectUpstream().resume().once('close', endRepeated) : undefined;
        forward(client, chunk, { cut, upstream: connectUpstream(), copy });
      }
    });
  });
  const start = async () => {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  let port = 0;
  await start();
  ({ port } = server.address() as AddressInfo);
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    cut();
    await closed;
  };
  return {
    port,
    /** The cuts of the next requests, in order; further requests pass. */
    next,
    /** Resolves when the response to a repeated request has ended. */
    repeated,
    /** How many requests came. */
    requests: () => requests,
    /** Forwards to another port from now on. */
    forwardTo: (other: number) => {
      upstream = other;
    },
    /** Cuts all open connections. */
    cut,
    /** Stops listening, so that connections are refused. */
    stop,
    /** Listens again, on the same port. */
    start,
    close: stop,
  };
}

interface Forwarding {
  cut: Cut | undefined;
  upstream: Socket;
  /** Gets the same request. */
  copy: Socket | undefined;
}

/** Forwards one request and its response, up to the cut. */
function forward(client: Socket, first: Buffer, { cut, upstream, copy }: Forwarding): void {
  const body = new RequestBody();
  const send = (chunk: Buffer) => {
    const [part, isWhole] = body.take(chunk);
    // Half of the body, and nothing after it.
    if (cut === 'in the request' && body.received > 0) {
      upstream.write(part.subarray(0, part.length - Math.ceil(body.received / 2)));
      client.destroy();
      upstream.end();
      return;
    }
    upstream.write(part);
    copy?.write(part);
    if (isWhole && cut === 'after the request') client.destroy();
  };
  client.on('data', send);
  send(first);
  let response = Buffer.alloc(0);
  upstream.on('data', (chunk: Buffer) => {
    if (client.destroyed) return;
    response = Buffer.concat([response, chunk]);
    const head = response.indexOf('\r\n\r\n') + 4;
    const ends: Partial<Record<Cut, number>> = {
      'before the head': 0,
      'in the head': 20,
      ...(head > 3 && { 'in the body': head + 5 }),
    };
    const allowed = (cut && ends[cut]) ?? Number.POSITIVE_INFINITY;
    const rest = allowed - (response.length - chunk.length);
    client.write(chunk.subarray(0, Math.max(0, rest)), () => {
      if (response.length > allowed) client.destroy();
    });
  });
  upstream.on('end', () => client.end()).once('close', () => client.destroySoon());
  // The service goes on if its client has gone: it learns of it by the end of the connection.
  client.once('close', () => upstream.end());
}

/** Counts the body of one request, and makes its connection end with the response. */
class RequestBody {
  #head = Buffer.alloc(0);
  #isHead = true;
  #length = 0;
  received = 0;

  /** @returns the bytes to forward, and whether the request is whole */
  take(chunk: Buffer): [Buffer, boolean] {
    if (!this.#isHead) {
      this.received += chunk.length;
      return [chunk, this.received >= this.#length];
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) return [Buffer.alloc(0), false];
    this.#isHead = false;
    const head = this.#head.subarray(0, end).toString('latin1');
    this.#length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = this.#head.subarray(end);
    this.received = body.length - 4;
    const closing = head.replace(/^connection: .*$/im, 'connection: close');
    return [Buffer.concat([Buffer.from(closing, 'latin1'), body]), this.received >= this.#length];
  }
}
