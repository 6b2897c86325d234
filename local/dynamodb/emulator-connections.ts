import { Socket } from 'node:net';

export interface EmulatorResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface EmulatorConnection {
  readonly socket: Socket;
  /** One call at a time; the connection is free for another one when the answer is whole. */
  exchange(
    request: string | Buffer,
    onAnswer: (response: EmulatorResponse) => void,
    onError: (error: Error) => void,
  ): void;
}

// Before functions are kept off the run's own ports.
const { connect } = Socket.prototype;

const HEAD_END = '\r\n\r\n';

/**
 * Connections to the engine, which are kept. What stands between is HTTP/1.1 as the engine speaks it: each answer is one
 * message whose length its head tells. Node's own client takes twice the processor for that, which is a tenth of a reply.
 */
export function emulatorConnections({ hostname, port }: URL): { take(): EmulatorConnection } {
  const idle: EmulatorConnection[] = [];

  function open(): EmulatorConnection {
    const socket = new Socket().setNoDelay().setKeepAlive(true);
    Reflect.apply(connect, socket, [Number(port), hostname]);
    let call: { onAnswer: (response: EmulatorResponse) => void; onError: (error: Error) => void } | undefined;
    let head:
      | (Omit<EmulatorResponse, 'body'> & { readonly bodyStart: number; readonly end: number })
      | undefined;
    let chunks: Buffer[] = [];
    let bytes = 0;

    const connection: EmulatorConnection = {
      socket,
      exchange(request, onAnswer, onError) {
        call = { onAnswer, onError };
        socket.ref();
        socket.write(request);
      },
    };

    function take(chunk: Buffer): void {
      if (call === undefined) throw new Error('The engine said more than was asked');
      chunks.push(chunk);
      bytes += chunk.length;
      if (head === undefined) {
        const received = together(chunks);
        chunks = [received];
        const headEnd = received.indexOf(HEAD_END);
        if (headEnd < 0) return;
        head = readHead(received.toString('latin1', 0, headEnd), headEnd + HEAD_END.length);
      }
      if (bytes < head.end) return;
      if (bytes > head.end) throw new Error('The engine said more than was asked');
      const whole = together(chunks);
      const { status, reason, headers, bodyStart } = head;
      const { onAnswer } = call;
      [call, head, chunks, bytes] = [undefined, undefined, [], 0];
      // What is refused early is answered while it is being written.
      if (headers.connection?.toLowerCase() === 'close' || socket.writableLength > 0) socket.end();
      else {
        idle.push(connection);
        socket.unref();
      }
      onAnswer({ status, reason, headers, body: whole.subarray(bodyStart) });
    }

    socket.on('data', (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', (error) => {
      call?.onError(error);
      call = undefined;
    });
    socket.on('close', () => {
      const index = idle.indexOf(connection);
      if (index >= 0) idle.splice(index, 1);
      // As Node's own client names it, by which the SDK knows that another try may help.
      call?.onError(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
      call = undefined;
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
    throw new Error(`The engine's answer cannot be read: ${first}`);
  return { status: Number(status), reason, headers, bodyStart, end: bodyStart + Number(length) };
}

/** Most answers come in one piece. */
const together = (chunks: readonly Buffer[]): Buffer => {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
};
