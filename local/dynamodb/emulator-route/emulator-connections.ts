import { Socket } from 'node:net';

export interface EmulatorConnection {
  readonly socket: Socket;
  /** Calls `onResponse` or `onError` once. */
  exchange(
    request: string | Buffer,
    onResponse: (response: EmulatorResponse) => void,
    onError: (error: Error) => void,
  ): void;
}

// Read before `rejectRunnerPorts` replaces it: the replacement would reject the emulator's port.
const { connect } = Socket.prototype;

/** Node's HTTP client would need more processor time (README.md has the figures). */
export function emulatorConnections({ hostname, port }: URL): { take(): EmulatorConnection } {
  const idle: EmulatorConnection[] = [];

  function open(): EmulatorConnection {
    const socket = new Socket().setNoDelay().setKeepAlive(true);
    Reflect.apply(connect, socket, [Number(port), hostname]);
    let pending:
      | { onResponse: (response: EmulatorResponse) => void; onError: (error: Error) => void }
      | undefined;
    const read = createResponseReader();

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
      const response = read(chunk);
      if (response === undefined) return;
      const { onResponse } = pending;
      pending = undefined;
      // The emulator may respond before the whole request has been written. Such a connection is not reused.
      if (response.headers.connection?.toLowerCase() === 'close' || socket.writableLength > 0) socket.end();
      else {
        idle.push(connection);
        socket.unref();
      }
      onResponse(response);
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
      // Node's HTTP client fails with this error, and the SDK retries calls that fail with it.
      pending?.onError(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
      pending = undefined;
    });
    return connection;
  }

  return { take: () => idle.pop() ?? open() };
}

export interface EmulatorResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface ResponseHead extends Omit<EmulatorResponse, 'body'> {
  readonly bodyStart: number;
  readonly end: number;
}

const HEAD_END = '\r\n\r\n';

/** The reader returns undefined until a response is complete. It throws an Error for what it cannot read. */
export function createResponseReader(): (chunk: Buffer) => EmulatorResponse | undefined {
  let head: ResponseHead | undefined;
  let chunks: Buffer[] = [];
  let bytes = 0;
  return (chunk) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (head === undefined) {
      const received = concatenate(chunks);
      chunks = [received];
      head = readHead(received);
      if (head === undefined) return undefined;
    }
    if (bytes < head.end) return undefined;
    if (bytes > head.end) throw new Error('The emulator sent unexpected data');
    const { status, reason, headers, bodyStart } = head;
    const body = concatenate(chunks).subarray(bodyStart);
    head = undefined;
    chunks = [];
    bytes = 0;
    return { status, reason, headers, body };
  };
}

function readHead(received: Buffer): ResponseHead | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const [first = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
  const [, status, reason = ''] = /^HTTP\/1\.1 (\d{3}) ?(.*)$/.exec(first) ?? [];
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const length = headers['content-length'];
  if (status === undefined || length === undefined)
    throw new Error(`The emulator's response cannot be read: ${first}`);
  const bodyStart = headEnd + HEAD_END.length;
  return { status: Number(status), reason, headers, bodyStart, end: bodyStart + Number(length) };
}

const concatenate = (chunks: readonly Buffer[]): Buffer => {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
};

/** Some emulators, such as DynamoDB Local, have a database for each access key. */
export const withEmulatorCredential = (authorization: string): string =>
  authorization.replace(/Credential=[^/]+/, 'Credential=local');
