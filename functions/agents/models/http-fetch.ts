import { Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestSecure, Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';

/** Milliseconds until a connection must stand. */
const connectTime = 10_000;

/** Milliseconds that a connection is kept without use, unless its server names less: the turns of a chat find it again. */
const idleTime = 30_000;

/** Answers that have no body (https://fetch.spec.whatwg.org/#null-body-status). */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

const agents = {
  'http:': new Agent({ keepAlive: true, timeout: idleTime }),
  'https:': new SecureAgent({ keepAlive: true, timeout: idleTime }),
};

/**
 * `fetch` as the AI SDK's providers call it, over `node:http`, which the AWS SDK has loaded anyhow. Node's own brings a
 * second HTTP client: its parser is compiled in each environment's first reply, and calls take more processor
 * (docs/performance.md). No redirect is followed, so the key goes nowhere else, and nothing compressed is asked for.
 * @param init a body that is a text, and headers by their names
 * @throws the signal's reason; TypeError `fetch failed` with the cause when there is no answer, as fetch does
 */
export async function httpFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  if (input instanceof Request) throw new TypeError('It takes an address, not a Request');
  const { signal } = init;
  signal?.throwIfAborted();
  try {
    return responseOf(await responseTo(open(new URL(input), init)), signal);
  } catch (error) {
    throw signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause: error });
  }
}

function open(url: URL, { method = 'GET', headers, body, signal }: RequestInit): ClientRequest {
  if (body != null && typeof body !== 'string') throw new TypeError('The body must be a text');
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
    }, connectTime);
    socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(timer));
    request.once('close', () => clearTimeout(timer));
  });
  request.end(body ?? undefined);
  return request;
}

function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once('response', resolve);
  // For good: an answer that is let go of tells of its end here too.
  request.on('error', reject);
  // Such as behind a change of protocols that nobody asked for, of which Node.js tells nothing else.
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
    if (!bodiless.has(statusCode)) return new Response(bodyOf(response, signal), init);
    response.resume();
    return new Response(null, init);
  } catch (error) {
    response.destroy();
    throw error;
  }
}

function bodyOf(
  response: IncomingMessage,
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  let isCancelled = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // What has arrived may still come behind a cancel; and behind an abort, its end without what stood before it.
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
