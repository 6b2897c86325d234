import { connect } from 'node:net';

/** One request, byte by byte: also requests that an HTTP client would refuse to send. */
export interface RawRequest {
  method: string;
  /** Path and query as written in the first line. */
  target: string;
  /** In order; each character is one byte. `Host`, `Connection` and the body's length are added unless given. */
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
  /** `none` adds no header about the body. */
  framing: 'length' | 'chunked' | 'none';
  /** Closes the sending side of the connection after the body. */
  ends?: true;
}

export interface RawResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** In milliseconds: longer than any response of the service takes on a busy machine. */
const idleTimeout = 60_000;

/**
 * Sends bytes over a separate connection, and reads the response until its end.
 * @returns undefined if the connection was closed without a response
 * @throws Error if the connection is idle for too long, or if the response is not HTTP
 */
export function exchange(port: number, request: RawRequest): Promise<RawResponse | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.setTimeout(idleTimeout, () => {
      socket.destroy();
      reject(new Error(`The response did not end within ${idleTimeout / 1000} s`));
    });
    let length: number | undefined;
    let read = 0;
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      read += chunk.length;
      length ??= lengthOf(Buffer.concat(chunks), request.method);
      // The response is complete, even if the server keeps the connection open.
      if (length !== undefined && read >= length) socket.destroy();
    });
    // A server may reject a request before it has read all of it, and then reset the connection. The response, if there
    // is one, has been read by then.
    socket.on('error', () => {});
    socket.on('close', () => {
      try {
        resolve(readResponse(Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
    const bytes = bytesOf(port, request);
    if (request.ends) socket.end(bytes);
    else socket.write(bytes);
  });
}

function bytesOf(port: number, { method, target, headers, body, framing }: RawRequest): Buffer {
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...(given.has('host') ? [] : [`Host: 127.0.0.1:${port}`]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(framing === 'length' ? [`Content-Length: ${body.length}`] : []),
    ...(framing === 'chunked' ? ['Transfer-Encoding: chunked'] : []),
    ...(given.has('connection') ? [] : ['Connection: close']),
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, framing === 'chunked' ? inChunks(body) : body]);
}

/** The body in two chunks, with the empty chunk that ends it. */
function inChunks(body: Buffer): Buffer {
  const half = body.length >> 1;
  const chunks = [body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0);
  return Buffer.concat([
    ...chunks.flatMap((chunk) => [
      Buffer.from(`${chunk.length.toString(16)}\r\n`),
      chunk,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('0\r\n\r\n'),
  ]);
}

/** The length of the whole response in bytes; undefined if the head has no Content-Length or is incomplete. */
function lengthOf(bytes: Buffer, method: string): number | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined || head.startsWith('HTTP/1.1 100')) return undefined;
  return end + 4 + (method === 'HEAD' ? 0 : Number(length));
}

function readResponse(bytes: Buffer): RawResponse | undefined {
  if (bytes.length === 0) return undefined;
  const end = bytes.indexOf('\r\n\r\n');
  const [first = '', ...lines] = bytes.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3})/.exec(first)?.[1];
  if (status === undefined) throw new Error(`The response is not HTTP: ${bytes.toString('latin1', 0, 200)}`);
  const rest = bytes.subarray(end + 4);
  if (status === '100') return readResponse(rest);
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const body = headers.get('transfer-encoding') === 'chunked' ? fromChunks(rest) : rest;
  const length = headers.get('content-length');
  if (length !== null && body.length !== Number(length) && body.length > 0)
    throw new Error(`The response has ${body.length} bytes of ${length}`);
  return { status: Number(status), headers, text: body.toString() };
}

function fromChunks(bytes: Buffer): Buffer {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (end < 0 || Number.isNaN(size)) throw new Error('The response ends inside a chunk');
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
