import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, isIPv6, type LookupFunction } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import { bare, checkedAddresses, type OutboundRules } from './addresses.ts';

async function* chunksOf(
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of decoded(response) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new OutboundFailure('too-large', `The answer is larger than ${maxBytes / 1_000_000} MB`);
    yield chunk;
  }
  // A body may end with the connection. So an aborted body can look like a complete one.
  signal.throwIfAborted();
}

const readAll = async (_head: ResponseHead, chunks: AsyncIterable<Buffer>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(chunks));

/** An error in the body is not a failure. */
export const dropBody: ReadBody<void> = async (_head, chunks) =>
  void (await Array.fromAsync(chunks, () => undefined).catch(() => undefined));

function decoded(response: IncomingMessage): AsyncIterable<unknown> {
  const coding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  switch (coding) {
    case '':
    case 'identity':
      return response;
    case 'gzip':
    case 'x-gzip':
      return through(response, createGunzip());
    case 'br':
      return through(response, createBrotliDecompress());
    case 'deflate':
      return inflated(response);
  }
  throw new OutboundFailure('broken', 'The answer has a compression that is not supported');
}

/** `deflate` means the zlib format, but some servers send raw deflate data. */
async function* inflated(response: IncomingMessage): AsyncIterable<unknown> {
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  if (first.done) return;
  const isZlib = ((first.value[0] ?? 0) & 0x0f) === 8;
  const whole = Readable.from(
    (async function* () {
      yield first.value;
      yield* { [Symbol.asyncIterator]: () => chunks };
    })(),
  );
  try {
    yield* through(whole, isZlib ? createInflate() : createInflateRaw());
  } finally {
    // The destruction of the pipeline may not reach the response, for example while the generator waits for a chunk.
    if (!response.readableEnded) response.destroy();
  }
}

/** An error of the source or the decoder is thrown to the reader of the result. */
const through = (source: Readable, decoder: NodeJS.ReadWriteStream): AsyncIterable<unknown> =>
  pipeline(source, decoder, () => undefined) as unknown as AsyncIterable<unknown>;

export interface OutboundRequest {
  url: URL;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent to every server, even after a redirect. */
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array;
  /** Undefined if the address is not to be checked, such as one of AWS. */
  rules: OutboundRules | undefined;
  /** Each redirect is checked like the first address. With 0, or if the method is not GET, a 3xx is returned. */
  redirects: number;
  /**
   * In milliseconds. `response`: at each server, for the check of its address and the head of its response. `whole`:
   * for all, with redirects and the body.
   */
  times: { response: number; whole: number };
  /** Of the decompressed body. */
  maxBytes: number;
  /** With a pool, a name is checked only when a connection is made. */
  pool?: ConnectionPool | undefined;
  signal: AbortSignal;
}

export interface ResponseHead {
  url: URL;
  status: number;
  headers: IncomingHttpHeaders;
}

type OutboundResponse<Body> = ResponseHead & { body: Body };

/** May leave the body before its end. If the function reads nothing, the connection is closed. */
export type ReadBody<Body> = (head: ResponseHead, chunks: AsyncIterable<Buffer>) => Promise<Body>;

/** Open connections must not outlive a reply, because the function may be frozen then. */
export class ConnectionPool {
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true }),
    'https:': new HttpsAgent({ keepAlive: true }),
  };

  agentFor = ({ protocol }: URL): HttpAgent => this.#agents[protocol === 'https:' ? 'https:' : 'http:'];

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }
}

const headerBytes = 32 * 1024;

/**
 * An error status is no failure.
 * @throws OutboundFailure, also for any error of `read`; or the signal's reason
 */
export async function sendOutbound<Body = Buffer>(
  request: OutboundRequest,
  read: ReadBody<Body> = readAll as ReadBody<never>,
): Promise<OutboundResponse<Body>> {
  const timeout = AbortSignal.timeout(request.times.whole);
  const signal = AbortSignal.any([request.signal, timeout]);
  try {
    return await follow(request, read, signal);
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof OutboundFailure) throw error;
    if (timeout.aborted)
      throw new OutboundFailure('timeout', timeoutText(request.times.whole), { cause: error });
    throw failureOf(error);
  }
}

async function follow<Body>(
  request: OutboundRequest,
  read: ReadBody<Body>,
  signal: AbortSignal,
): Promise<OutboundResponse<Body>> {
  let url = request.url;
  for (let hop = 0; ; hop += 1) {
    const response = await responseOf(request, url, hop, signal);
    const next = request.method === 'GET' && request.redirects > 0 ? redirectOf(response, url) : undefined;
    const head = { url, status: response.statusCode ?? 0, headers: response.headers };
    if (next === undefined) {
      const body = await read(head, chunksOf(response, request.maxBytes, signal)).catch((error: unknown) => {
        response.destroy();
        throw error;
      });
      if (!response.readableDidRead) response.destroy();
      return { ...head, body };
    }
    response.destroy();
    if (hop === request.redirects)
      throw new OutboundFailure('redirects', `There are more than ${request.redirects} redirects`);
    // A request over https must not be redirected to plain http.
    if (url.protocol === 'https:' && next.protocol === 'http:')
      throw new OutboundFailure('forbidden', 'A redirect leads from https to http');
    url = next;
  }
}

async function responseOf(
  request: OutboundRequest,
  url: URL,
  hop: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const headTimeout = AbortSignal.timeout(request.times.response);
  const aborted = AbortSignal.any([signal, headTimeout]);
  try {
    const { rules, pool } = request;
    const check = rules && (() => untilAborted(checkedAddresses(url, rules, aborted), aborted));
    // Node.js looks up no host that is an address, so that one is checked here. With a pool, a name is checked by the
    // lookup, which only a new connection needs.
    const addresses = pool === undefined || isIP(bare(url.hostname)) !== 0 ? await check?.() : undefined;
    const lookup = addresses ? connecting(async () => addresses) : check && connecting(check);
    return await untilAborted(connect(request, url, lookup, signal, headTimeout), aborted);
  } catch (error) {
    signal.throwIfAborted();
    if (headTimeout.aborted)
      throw new OutboundFailure('timeout', timeoutText(request.times.response), { cause: error });
    if (hop > 0 && error instanceof OutboundFailure && error.kind === 'forbidden')
      throw new OutboundFailure('forbidden', 'A redirect leads to an address that is not allowed');
    throw error;
  }
}

function connect(
  request: OutboundRequest,
  url: URL,
  lookup: LookupFunction | undefined,
  signal: AbortSignal,
  headTimeout: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options: RequestOptions = {
    method: request.method,
    // Without a pool no keep-alive: a reused connection could outlive the address check, and the function's invocation.
    agent: request.pool?.agentFor(url) ?? false,
    maxHeaderSize: headerBytes,
    headers: {
      'Accept-Encoding': 'gzip, deflate, br',
      ...request.headers,
      ...(request.body && { 'Content-Length': String(request.body.byteLength) }),
    },
    signal,
    ...(lookup && { lookup }),
  };
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const sent: ClientRequest = send(url, options, resolve);
  const abort = () => sent.destroy();
  headTimeout.addEventListener('abort', abort, { once: true });
  sent.once('response', () => headTimeout.removeEventListener('abort', abort));
  sent.on('error', reject);
  sent.once('upgrade', (_response, socket) => {
    socket.destroy();
    reject(new OutboundFailure('broken'));
  });
  sent.end(request.body);
  return promise;
}

/** Connects only to the checked addresses. TLS still verifies the name. */
const connecting =
  (check: () => Promise<readonly string[]>): LookupFunction =>
  (_host, { all }, done) => {
    check().then(
      (addresses) => {
        const known = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
        const [first] = known;
        if (all) done(null, known);
        else if (first !== undefined) done(null, first.address, first.family);
      },
      (error) => done(error, ''),
    );
  };

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

function redirectOf({ statusCode = 0, headers }: IncomingMessage, url: URL): URL | undefined {
  if (!redirectStatuses.has(statusCode) || headers.location === undefined) return undefined;
  const next = URL.parse(headers.location, url.href);
  if (next === null) throw new OutboundFailure('broken', 'A redirect leads to an invalid address');
  return next;
}

const timeoutText = (milliseconds: number): string => `It took longer than ${milliseconds / 1000} seconds`;

/** The messages of Node.js and OpenSSL must not reach users: they may contain addresses. */
function failureOf(error: unknown): OutboundFailure {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'HPE_HEADER_OVERFLOW')
    return new OutboundFailure('too-large', `The answer's headers are larger than ${headerBytes / 1024} KB`);
  if (/^(?:HPE_|Z_|ERR__ERROR_|ERR_BROTLI|ERR_HTTP)/.test(code)) return new OutboundFailure('broken');
  if (/CERT|SIGNATURE|ISSUER|CHAIN/.test(code)) return new OutboundFailure('untrusted');
  return new OutboundFailure('unreachable');
}
