import { Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestSecure, Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** In milliseconds, with the TLS handshake. */
const connectTimeout = 10_000;

/** How long an idle connection stays open, in milliseconds, unless the server asks for less. */
const idleTimeout = 30_000;

const mostRedirects = 3;

/** Some servers compress although the request asks them not to. */
const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Statuses of final responses without a body (https://fetch.spec.whatwg.org/#null-body-status). */
const nullBodyStatuses: ReadonlySet<number> = new Set([204, 205, 304]);

const agents = {
  'http:': new Agent({ keepAlive: true, timeout: idleTimeout }),
  'https:': new SecureAgent({ keepAlive: true, timeout: idleTimeout }),
};

/**
 * Node's own fetch takes more processor time (README.md). This one follows only redirects that repeat the request on
 * the same server (307, 308), so the API key reaches no other one.
 * @param init the body must be a string, absent, or an async iterable of chunks with the header content-length.
 *   A redirect reads the iterable again
 * @throws the signal's reason; TypeError `fetch failed` with the cause
 */
export async function httpFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  if (input instanceof Request) throw new TypeError('httpFetch takes a URL, not a Request');
  const { signal } = init;
  signal?.throwIfAborted();
  try {
    let url = new URL(input);
    for (let redirects = 0; ; redirects += 1) {
      const response = await responseTo(sendRequest(url, init));
      const target = redirects < mostRedirects ? redirectOf(response, url) : undefined;
      if (target === undefined) return responseOf(response, signal);
      response.destroy();
      url = target;
    }
  } catch (error) {
    throw signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause: error });
  }
}

function redirectOf({ statusCode, headers: { location } }: IncomingMessage, url: URL): URL | undefined {
  if ((statusCode !== 307 && statusCode !== 308) || location === undefined) return undefined;
  const target = URL.parse(location, url.href);
  return target?.origin === url.origin ? target : undefined;
}

function sendRequest(url: URL, { method = 'GET', headers, body, signal }: RequestInit): ClientRequest {
  const chunks = typeof body === 'object' && body !== null && Symbol.asyncIterator in body ? body : undefined;
  if (body != null && typeof body !== 'string' && chunks === undefined)
    throw new TypeError('The body must be a string or an async iterable');
  const isSecure = url.protocol === 'https:';
  const request = (isSecure ? requestSecure : requestPlain)(url, {
    method,
    agent: agents[isSecure ? 'https:' : 'http:'],
    headers: { 'accept-encoding': 'identity', ...Object.fromEntries(new Headers(headers)) },
    ...(signal && { signal }),
  });
  request.once('socket', (socket: Socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => {
      request.destroy(networkError('ETIMEDOUT', 'No connection in time'));
    }, connectTimeout);
    socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(timer));
    request.once('close', () => clearTimeout(timer));
  });
  if (chunks === undefined) request.end(body ?? undefined);
  else sendChunks(request, Readable.from(chunks));
  return request;
}

function sendChunks(request: ClientRequest, chunks: Readable): void {
  chunks.once('error', (error) => request.destroy(error));
  request.once('close', () => chunks.destroy());
  chunks.pipe(request);
}

function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once('response', resolve);
  // Stays after the response: an error may still come, and without a listener it would end the process.
  request.on('error', reject);
  // The connection may close without a response or an error, for example after an unexpected protocol upgrade.
  const close = () => reject(networkError('ECONNRESET', 'The connection ended without an answer'));
  request.once('close', close).once('response', () => request.off('close', close));
  return promise;
}

const networkError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

function responseOf(response: IncomingMessage, signal: AbortSignal | null | undefined): Response {
  const { statusCode = 0, statusMessage = '', rawHeaders } = response;
  try {
    const headers = new Headers();
    for (let at = 0; at < rawHeaders.length; at += 2)
      headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
    const init = { status: statusCode, statusText: statusMessage, headers };
    if (!nullBodyStatuses.has(statusCode)) return new Response(bodyOf(decoded(response), signal), init);
    response.resume();
    return new Response(null, init);
  } catch (error) {
    response.destroy();
    throw error;
  }
}

function decoded(response: IncomingMessage): Readable {
  const decoder = decoders[response.headers['content-encoding']?.toLowerCase() ?? '']?.();
  // The decoder emits the errors of the response too, so the callback has nothing to do.
  return decoder === undefined ? response : pipeline(response, decoder, () => undefined);
}

function bodyOf(response: Readable, signal: AbortSignal | null | undefined): ReadableStream<Uint8Array> {
  let isCancelled = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // After a cancel, received chunks may still be emitted. After an abort, `end` may come although chunks are
      // missing.
      response.on('data', (chunk: Uint8Array) => {
        if (isCancelled) return;
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) response.pause();
      });
      response.once('end', () => {
        if (isCancelled) return;
        if (signal?.aborted) controller.error(signal.reason);
        else controller.close();
      });
      response.on('error', (error) =>
        controller.error(signal?.aborted ? signal.reason : new TypeError('terminated', { cause: error })),
      );
      response.pause();
    },
    pull: () => void response.resume(),
    cancel() {
      isCancelled = true;
      response.destroy();
    },
  });
}
