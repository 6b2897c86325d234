import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIPv6, type LookupFunction } from 'node:net';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import { checkedAddresses, type OutboundRules } from './checked-addresses.ts';
import { readBody } from './read-body.ts';

export interface OutboundRequest {
  url: URL;
  method: 'GET' | 'POST';
  /** They go to every server that a redirect leads to. */
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array;
  /** Undefined for an address that an operator chose: it is not checked. */
  rules: OutboundRules | undefined;
  /** Redirects that are followed, each checked as the first address was; with 0 they are answers as any other. Of GET alone. */
  redirects: number;
  /** Milliseconds until the head of an answer is there, from each server, and until all is done. */
  times: { response: number; whole: number };
  /** Of the decompressed body: a larger one is a failure. */
  maxBytes: number;
  /** The body is nobody's concern: it is let through for the time that is left, and whatever becomes of it is no failure. */
  headAlone?: true;
  signal: AbortSignal;
}

export interface OutboundResponse {
  /** Where it came from in the end. */
  url: URL;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Names, policies and cookies of real sites stay below 16 KB; more is no page. */
const headerBytes = 32 * 1024;

/**
 * A request to an address that somebody else named: it reaches nothing that the rules do not allow, and it ends in time,
 * with a bounded answer, whatever the other side does.
 * @throws OutboundFailure, or the signal's reason
 */
export async function sendOutbound(request: OutboundRequest): Promise<OutboundResponse> {
  const timeout = AbortSignal.timeout(request.times.whole);
  const signal = AbortSignal.any([request.signal, timeout]);
  try {
    return await follow(request, signal);
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof OutboundFailure) throw error;
    if (timeout.aborted)
      throw new OutboundFailure('timeout', timeoutText(request.times.whole), { cause: error });
    throw failureOf(error);
  }
}

async function follow(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
  let url = request.url;
  for (let hop = 0; ; hop += 1) {
    const response = await responseOf(request, url, hop, signal);
    const next = request.method === 'GET' && request.redirects > 0 ? redirectOf(response, url) : undefined;
    if (next === undefined && request.headAlone) {
      await readBody(response, request.maxBytes).catch(() => undefined);
      response.destroy();
      const { statusCode = 0, headers } = response;
      return { url, status: statusCode, headers, body: Buffer.alloc(0) };
    }
    if (next === undefined) {
      const whole = await wholeOf(request, response);
      // A body whose end is the connection's looks whole when it was we who ended that.
      signal.throwIfAborted();
      return { url, ...whole };
    }
    response.destroy();
    if (hop === request.redirects)
      throw new OutboundFailure('redirects', `There are more than ${request.redirects} redirects`);
    // What was asked for under protection must not come without.
    if (url.protocol === 'https:' && next.protocol === 'http:')
      throw new OutboundFailure('forbidden', 'A redirect leads from https to http');
    url = next;
  }
}

/** One request, until the head of its answer is there. */
async function responseOf(
  request: OutboundRequest,
  url: URL,
  hop: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const slow = AbortSignal.timeout(request.times.response);
  const patience = AbortSignal.any([signal, slow]);
  try {
    const addresses = request.rules && (await untilAborted(checkedAddresses(url, request.rules), patience));
    return await untilAborted(connect(request, url, addresses, signal, slow), patience);
  } catch (error) {
    signal.throwIfAborted();
    if (slow.aborted)
      throw new OutboundFailure('timeout', timeoutText(request.times.response), { cause: error });
    if (hop > 0 && error instanceof OutboundFailure && error.kind === 'forbidden')
      throw new OutboundFailure('forbidden', 'A redirect leads to an address that is not allowed');
    throw error;
  }
}

function connect(
  request: OutboundRequest,
  url: URL,
  addresses: readonly string[] | undefined,
  signal: AbortSignal,
  slow: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options: RequestOptions = {
    method: request.method,
    // A connection of its own: one that is kept could outlive the check, and the function's invocation.
    agent: false,
    maxHeaderSize: headerBytes,
    headers: {
      'Accept-Encoding': 'gzip, deflate, br',
      ...request.headers,
      ...(request.body && { 'Content-Length': String(request.body.byteLength) }),
    },
    signal,
    ...(addresses && { lookup: connecting(addresses) }),
  };
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const sent: ClientRequest = send(url, options, resolve);
  const abort = () => sent.destroy();
  slow.addEventListener('abort', abort, { once: true });
  sent.once('response', () => slow.removeEventListener('abort', abort));
  sent.on('error', reject);
  sent.once('upgrade', (_response, socket) => {
    socket.destroy();
    reject(new OutboundFailure('broken'));
  });
  sent.end(request.body);
  return promise;
}

/** The name is not looked up again: the connection goes to the addresses that were checked. TLS still checks the name. */
const connecting =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, done) => {
    const known = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    const [first] = known;
    if (all) done(null, known);
    else if (first !== undefined) done(null, first.address, first.family);
  };

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

function redirectOf({ statusCode = 0, headers }: IncomingMessage, url: URL): URL | undefined {
  if (!redirectStatuses.has(statusCode) || headers.location === undefined) return undefined;
  const next = URL.parse(headers.location, url.href);
  if (next === null) throw new OutboundFailure('broken', 'A redirect leads to something that is no address');
  return next;
}

async function wholeOf(
  { maxBytes }: OutboundRequest,
  response: IncomingMessage,
): Promise<Omit<OutboundResponse, 'url'>> {
  const { body, isCut } = await readBody(response, maxBytes);
  if (isCut) throw new OutboundFailure('too-large', `The answer is larger than ${maxBytes / 1_000_000} MB`);
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

const timeoutText = (milliseconds: number): string => `It took longer than ${milliseconds / 1000} seconds`;

/** Node.js and OpenSSL tell what went wrong by codes. What their messages say, such as addresses, is for nobody else. */
function failureOf(error: unknown): OutboundFailure {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'HPE_HEADER_OVERFLOW')
    return new OutboundFailure('too-large', `The answer's headers are larger than ${headerBytes / 1024} KB`);
  if (/^(?:HPE_|Z_|ERR__ERROR_|ERR_BROTLI|ERR_HTTP)/.test(code)) return new OutboundFailure('broken');
  if (/CERT|SIGNATURE|ISSUER|CHAIN/.test(code)) return new OutboundFailure('untrusted');
  return new OutboundFailure('unreachable');
}
