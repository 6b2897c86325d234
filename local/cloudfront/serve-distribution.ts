import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { headerPairs } from '../gateway/response-headers.ts';
import { matchesPattern } from '../iam/matches-pattern.ts';
import type { RunContext } from '../run-context.ts';
import { openSite } from '../site/serve-site.ts';
import { listenOnLoopback } from '../wire/listen-on-loopback.ts';
import { createErrorCache } from './error-cache.ts';
import { limitSilence } from './limit-silence.ts';
import type { Behavior, Distribution } from './read-distribution.ts';
import { changeHeaders } from './response-headers-policy.ts';

// CloudFront's limits of a URL, and of a request line with its headers.
const MAX_URL_BYTES = 8192;
const MAX_HEAD_BYTES = 32_768;

// The same as the gateway's (local/gateway/serve-rest-api.ts).
const KEEP_ALIVE_MILLISECONDS = 350_000;

export async function serveDistribution(
  { behaviors, errorSeconds }: Distribution,
  { options: { port, site, pageOrigins = ['*'] }, origins }: Pick<RunContext, 'options' | 'origins'>,
) {
  const errors = createErrorCache(errorSeconds);
  const serveSite = await openSite(site);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (serveSite(request, response)) return;
    const { method = '', url = '/', headers } = request;
    const [path = '/'] = url.split('?');
    const behavior = behaviors.find(({ pattern }) => matchesPattern(pattern, path));
    const respond = behavior && origins.get(behavior.origin.domainName);
    if (!behavior || !respond) return void reject(response, 502);
    if (!behavior.methods.includes(method)) return void reject(response, 403);
    // CloudFront finds the distribution by the host.
    if (headers.host === undefined) return void reject(response, 400);
    // Called first, so that its own error gets no headers of the policy and is not cached.
    limitSilence(request, response, behavior.origin.readTimeoutMilliseconds);
    // Called before the cache observes the response: the cache stores the origin's headers.
    if (behavior.responseHeaders) changeHeaders(response, behavior.responseHeaders(request));
    if (errors.respond(request, path, response)) return;
    toOriginRequest(request, path, behavior);
    void respond(request, response);
  };
  const receive: typeof serve = (request, response) => {
    if (isTooLarge(request)) reject(response.setHeader('Connection', 'close'), 413);
    else serve(request, response);
  };
  const server = createServer(
    // No request timeout: an upload may take long.
    { keepAliveTimeout: KEEP_ALIVE_MILLISECONDS, maxHeaderSize: 4 * MAX_HEAD_BYTES, requestTimeout: 0 },
    receive,
  );
  // Without this listener, Node.js responds with 417 to an unknown `Expect` header.
  server.on('checkExpectation', receive);
  const { endpoint, close } = await listenOnLoopback(server, { port, pageOrigins });
  return { host: new URL(endpoint).host, close };
}

function reject(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Type': 'text/html' }).end('<h1>Error</h1>');
}

function isTooLarge({ method = '', url = '', rawHeaders }: IncomingMessage): boolean {
  // Two more bytes for each text: a colon and a space, or a line end. Node.js reads each byte as one character.
  const headerBytes = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  const headBytes = `${method} ${url} HTTP/1.1\r\n\r\n`.length + headerBytes;
  return url.length > MAX_URL_BYTES || headBytes > MAX_HEAD_BYTES;
}

function toOriginRequest(request: IncomingMessage, path: string, { viewerRequest, origin }: Behavior): void {
  const set = new Map<string, string>();
  const removed = new Set<string>();
  if (viewerRequest) {
    const after = viewerRequest({
      method: request.method ?? '',
      uri: path,
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, { value: String(value) }]),
      ),
    });
    for (const [name, { value }] of Object.entries(after))
      if (String(request.headers[name]) !== value) set.set(name, value);
    for (const name of Object.keys(request.headers)) if (after[name] === undefined) removed.add(name);
  }
  // Set last, so that these headers replace those of the client and of the function.
  for (const [name, value] of origin.customHeaders) set.set(name.toLowerCase(), value);
  set.set('host', origin.domainName);

  const others = headerPairs(request.rawHeaders).filter(
    ([name]) => !set.has(name.toLowerCase()) && !removed.has(name.toLowerCase()),
  );
  request.rawHeaders = [...others, ...set].flat();
  for (const name of removed) delete request.headers[name];
  for (const [name, value] of set) request.headers[name] = value;
}
