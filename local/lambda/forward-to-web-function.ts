import { randomUUID } from 'node:crypto';
import { type Agent, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';

export interface WebFunctionTarget {
  readonly agent: Agent;
  readonly port: number;
  readonly domainName: string;
  readonly timeoutSeconds: number;
}

// Headers of a connection, not of the request (RFC 9110, section 7.6.1). Headers that `Connection` names are also
// removed.
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'];

// Removed from a request before the function gets it. Transfer-Encoding stays, so that the body is forwarded unchanged.
const NOT_FORWARDED = new Set([...HOP_BY_HOP, 'expect', 'host', 'proxy-authenticate', 'proxy-authorization']);

const NOT_RETURNED = new Set([...HOP_BY_HOP, 'proxy-authenticate', 'transfer-encoding']);

/** Forwards a request to the function's server, and its response to the client, while they arrive. */
export function forwardToWebFunction(
  request: IncomingMessage,
  response: ServerResponse,
  { agent, port, domainName, timeoutSeconds }: WebFunctionTarget,
): void {
  const outgoing = openRequest({
    agent,
    host: '127.0.0.1',
    port,
    method: request.method,
    path: request.url,
    headers: headersFor(request, domainName),
  });
  const timer = setTimeout(() => outgoing.destroy(new Error('timeout')), timeoutSeconds * 1000);
  outgoing.on('response', (incoming) => {
    // A function that responds before it has read the request either reads the rest, or sends `Connection: close`. Then
    // the client's connection is closed too.
    const closes = !request.complete && incoming.headers.connection === 'close';
    const connection = closes ? ['Connection', 'close'] : [];
    const headers = withoutHeaders(incoming.rawHeaders, NOT_RETURNED);
    response.writeHead(incoming.statusCode ?? 502, [...headers, ...connection]);
    pipeline(incoming, response, () => clearTimeout(timer));
  });
  outgoing.on('error', (error) => {
    clearTimeout(timer);
    if (response.headersSent) response.destroy();
    else response.writeHead(error.message === 'timeout' ? 504 : 502).end();
  });
  // If the client disconnects, its request to the function is aborted.
  response.on('close', () => {
    if (!response.writableEnded) outgoing.destroy();
  });
  pipeline(request, outgoing, () => {});
}

function headersFor(request: IncomingMessage, host: string): string[] {
  const headers = withoutHeaders(request.rawHeaders, NOT_FORWARDED, /^lambda-web-/);
  return ['Host', host, 'lambda-web-request-id', randomUUID(), ...headers];
}

/** Returns names and values, alternating, without these headers and those that `Connection` names. */
function withoutHeaders(
  rawHeaders: readonly string[],
  removed: ReadonlySet<string>,
  reserved?: RegExp,
): string[] {
  const headers = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [{ name, lower: name.toLowerCase(), value: rawHeaders[index + 1] ?? '' }] : [],
  );
  const named = headers
    .filter(({ lower }) => lower === 'connection')
    .flatMap(({ value }) =>
      value
        .toLowerCase()
        .split(',')
        .map((option) => option.trim()),
    );
  return headers
    .filter(({ lower }) => !removed.has(lower) && !named.includes(lower) && !reserved?.test(lower))
    .flatMap(({ name, value }) => [name, value]);
}
