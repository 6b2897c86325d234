import { randomUUID } from 'node:crypto';
import { type Agent, type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http';
import { Readable } from 'node:stream';
import { headerPairs } from '../gateway/response-headers.ts';
import type { Address } from '../wire/listen-on-loopback.ts';
import type { WebFunctionDefinition } from './web-function-environment.ts';

export interface WebRequest {
  readonly method: string;
  readonly path: string;
  /** Names and values, alternating. */
  readonly rawHeaders: readonly string[];
  readonly body: Readable | Buffer;
  readonly signal: AbortSignal;
}

export interface WebResponse {
  readonly status: number;
  /** Names and values, alternating. */
  readonly rawHeaders: readonly string[];
  readonly body: Readable;
  /** If true, the function perhaps does not read the rest of the request. */
  readonly closesConnection: boolean;
}

// Headers of a connection, most of them from RFC 9110, section 7.6.1.
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'];

// Transfer-Encoding stays: a body that comes in chunks is forwarded in chunks.
const NOT_FORWARDED = new Set([...HOP_BY_HOP, 'expect', 'host', 'proxy-authenticate', 'proxy-authorization']);

const NOT_RETURNED = new Set([...HOP_BY_HOP, 'proxy-authenticate', 'transfer-encoding']);

/**
 * Resolves when the headers of the response have arrived, or with Lambda's own 502 or 504. A timeout after the headers
 * fails the body.
 */
export function callEnvironment(
  request: WebRequest,
  agent: Agent,
  address: Address,
  { domainName, timeoutSeconds }: Pick<WebFunctionDefinition, 'domainName' | 'timeoutSeconds'>,
): Promise<WebResponse> {
  const { promise, resolve } = Promise.withResolvers<WebResponse>();
  const requestId = randomUUID();
  const forwarded = withoutHeaders(request.rawHeaders, NOT_FORWARDED, /^lambda-web-/);
  const outgoing = openRequest({
    agent,
    ...address,
    method: request.method,
    path: request.path,
    headers: ['Host', domainName, 'lambda-web-request-id', requestId, ...forwarded],
    signal: request.signal,
  });
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    outgoing.destroy(new Error('The web function has timed out'));
  }, timeoutSeconds * 1000);
  outgoing.on('response', (incoming: IncomingMessage) => {
    incoming.once('close', () => clearTimeout(timer));
    resolve({
      status: incoming.statusCode ?? 502,
      rawHeaders: [
        ...withoutHeaders(incoming.rawHeaders, NOT_RETURNED),
        'lambda-web-request-id',
        requestId,
        // AWS documents the header, but not its value.
        'lambda-web-logstream',
        `local/${address.port}`,
      ],
      body: incoming,
      closesConnection: incoming.headers.connection === 'close',
    });
  });
  outgoing.on('error', () => {
    clearTimeout(timer);
    if (hasTimedOut) resolve(platformResponse(504, 'Runtime.RequestTimeout'));
    else resolve(platformResponse(502, 'Runtime.Unavailable'));
  });
  if (request.body instanceof Readable) pass(request.body, outgoing);
  else outgoing.end(request.body);
  return promise;
}

/** What an environment does not read is read here and dropped, so that the client gets the response. */
function pass(body: Readable, outgoing: ClientRequest): void {
  body.pipe(outgoing);
  body.once('error', () => outgoing.destroy());
  outgoing.once('close', () => {
    body.unpipe(outgoing);
    body.resume();
  });
}

/** AWS documents the header, but not all of its values. */
export const platformResponse = (status: number, errorType: string): WebResponse => ({
  status,
  rawHeaders: ['lambda-web-error-type', errorType],
  body: Readable.from([]),
  closesConnection: false,
});

/** Names and values, alternating. Headers that `Connection` names are removed too. */
function withoutHeaders(
  rawHeaders: readonly string[],
  removed: ReadonlySet<string>,
  reserved?: RegExp,
): string[] {
  const headers = headerPairs(rawHeaders);
  const named = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) =>
      value
        .trim()
        .toLowerCase()
        .split(/\s*,\s*/),
    );
  const isForwarded = (name: string) => !removed.has(name) && !named.includes(name) && !reserved?.test(name);
  return headers.filter(([name]) => isForwarded(name.toLowerCase())).flat();
}
