import { Socket } from 'node:net';

export interface EmulatorResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface EmulatorConnection {
  readonly socket: Socket;
  /** One call at a time. The connection is idle again when the response is complete. */
  exchange(
    request: string | Buffer,
    onResponse: (response: EmulatorResponse) => void,
    onError: (error: Error) => void,
  ): void;
}

// Read before `rejectOwnPorts` replaces it.
const { connect } = Socket.prototype;

const HEAD_END = '\r\n\r\n';

/**
 * Persistent connections to the emulator. They read only the HTTP/1.1 that the emulator sends: every response has a
 * Content-Length. Node's client needs twice the processor time, which would be a tenth of a reply's.
 */
export function emulatorConnections({ hostname, port }: URL): { take(): EmulatorConnection } {
  const idle: EmulatorConnection[] = [];

  function open(): EmulatorConnection {
    const socket = new Socket().setNoDelay().setKeepAlive(true);
    Reflect.apply(connect, socket, [Number(port), hostname]);
    let pending:
      | { onResponse: (response: EmulatorResponse) => void; onError: (error: Error) => void }
      | undefined;
    let head:
      | (Omit<EmulatorResponse, 'body'> & { readonly bodyStart: number; readonly end: number })
      | undefined;
    let chunks: Buffer[] = [];
    let bytes = 0;

    const connection: EmulatorConnection = {
      socket,
      exchange(request, onResponse, onError) {
        pending = { onResponse, onError };
        socket.ref();
        socket.write(request);
      },
    };

    function receive(chunk: Buffer): void {
      if (pending === undefined) throw new Error('The emulator sent unexpected data');
      chunks.push(chunk);
      bytes += chunk.length;
      if (head === undefined) {
        const received = concatenate(chunks);
        chunks = [received];
        const headEnd = received.indexOf(HEAD_END);
        if (headEnd < 0) return;
        head = readHead(received.toString('latin1', 0, headEnd), headEnd + HEAD_END.length);
      }
      if (bytes < head.end) return;
      if (bytes > head.end) throw new Error('The emulator sent unexpected data');
      const response = concatenate(chunks);
      const { status, reason, headers, bodyStart } = head;
      const { onResponse } = pending;
      [pending, head, chunks, bytes] = [undefined, undefined, [], 0];
      // The emulator responds to a rejected request while it is still being written. Such a connection is not reused.
      if (headers.connection?.toLowerCase() === 'close' || socket.writableLength > 0) socket.end();
      else {
        idle.push(connection);
        socket.unref();
      }
      onResponse({ status, reason, headers, body: response.subarray(bodyStart) });
    }

    socket.on('data', (chunk: Buffer) => {
      try {
        receive(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', (error) => {
      pending?.onError(error);
      pending = undefined;
    });
    socket.on('close', () => {
      const index = idle.indexOf(connection);
      if (index >= 0) idle.splice(index, 1);
      // The same error as Node's client, by which the SDK knows that it can retry.
      pending?.onError(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
      pending = undefined;
    });
    return connection;
  }

  return { take: () => idle.pop() ?? open() };
}

function readHead(text: string, bodyStart: number) {
  const [first = '', ...lines] = text.split('\r\n');
  const [, status, reason = ''] = /^HTTP\/1\.1 (\d{3}) ?(.*)$/.exec(first) ?? [];
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const length = headers['content-length'];
  if (status === undefined || length === undefined)
    throw new Error(`The emulator's response cannot be read: ${first}`);
  return { status: Number(status), reason, headers, bodyStart, end: bodyStart + Number(length) };
}

/** Copies nothing if there is only one chunk, as in most responses. */
const concatenate = (chunks: readonly Buffer[]): Buffer => {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
};
