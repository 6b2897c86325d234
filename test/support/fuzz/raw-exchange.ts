import { connect } from 'node:net';

/** One request, byte by byte: what an HTTP client would refuse to send, too. */
export interface RawRequest {
  method: string;
  /** Path and query as they stand in the first line. */
  target: string;
  /** In order; each character is a byte. `Host`, `Connection` and the body's length are added unless given. */
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
  /** `none` adds nothing that tells of the body. */
  framing: 'length' | 'chunked' | 'none';
  /** Closes the way in behind the body, as a client that has no more to say. */
  ends?: true;
}

export interface RawResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** Longer than any answer of the service takes on a busy machine. */
const patience = 60_000;

/**
 * Sends bytes over a connection of their own, and reads the answer until its end.
 * @returns nothing when the connection was closed without an answer
 * @throws Error when nothing more comes, or what comes is no HTTP
 */
export function exchange(port: number, request: RawRequest): Promise<RawResponse | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.setTimeout(patience, () => {
      socket.destroy();
      reject(new Error(`No end of an answer in ${patience / 1000} s`));
    });
    let length: number | undefined;
    let read = 0;
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      read += chunk.length;
      length ??= lengthOf(Buffer.concat(chunks), request.method);
      // Whoever keeps the connection open has said all the same.
      if (length !== undefined && read >= length) socket.destroy();
    });
    // A server may refuse before it has read all: what it said has been read by then, or there was nothing.
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

/** In two pieces, and the empty one that ends it. */
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

/** Of a whole answer, as its head tells; nothing when that tells none, or is not all there. */
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
  if (status === undefined) throw new Error(`The answer is no HTTP: ${bytes.toString('latin1', 0, 200)}`);
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
    throw new Error(`The answer has ${body.length} bytes of ${length}`);
  return { status: Number(status), headers, text: body.toString() };
}

function fromChunks(bytes: Buffer): Buffer {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (end < 0 || Number.isNaN(size)) throw new Error('The answer breaks off');
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
