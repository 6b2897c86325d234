import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { RunContext } from '../run-context.ts';
import { listenOnLoopback } from '../wire/listen-on-loopback.ts';
import { createErrorCache } from './error-cache.ts';
import type { Behavior, Distribution } from './read-distribution.ts';
import { overrideHeaders } from './response-headers-policy.ts';

export interface DistributionServer {
  /** With its port. */
  readonly host: string;
  close(): Promise<void>;
}

// CloudFront's limit for a request's line and headers together.
const MAX_HEADER_BYTES = 32 * 1024;

// As long as a viewer's silent connection is kept.
const KEEP_ALIVE_MILLISECONDS = 350_000;

/** Passes each request on to the origin of the first behaviour whose pattern its path has, but for errors that it has cached. */
export async function serveDistribution(
  { behaviors, errorSeconds }: Distribution,
  { options: { port }, origins }: Pick<RunContext, 'options' | 'origins'>,
): Promise<DistributionServer> {
  const errors = createErrorCache(errorSeconds);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const [path = '/'] = (request.url ?? '/').split('?');
    const behavior = behaviors.find(({ pattern }) => pattern.test(path));
    const respond = behavior && origins.get(behavior.origin.domainName);
    if (!behavior || !respond) reject(response, 502);
    else if (!behavior.methods.includes(request.method ?? '')) reject(response, 403);
    // Only HTTP/1.0 can do without; which distribution is asked would be unknown.
    else if (request.headers.host === undefined) reject(response, 400);
    else {
      // Before the cache, which stores what the origin says.
      if (behavior.responseHeaders) overrideHeaders(response, behavior.responseHeaders(request));
      if (errors.respond(request, path, response)) return;
      prepare(request, path, behavior);
      void respond(request, response);
    }
  };
  const server = createServer(
    // An upload may take as long as its origin lets it.
    { keepAliveTimeout: KEEP_ALIVE_MILLISECONDS, maxHeaderSize: 4 * MAX_HEADER_BYTES, requestTimeout: 0 },
    serve,
  );
  // CloudFront takes the header away; Node.js would answer what it does not know by itself.
  server.on('checkExpectation', serve);
  const { endpoint, close } = await listenOnLoopback(server, port);
  return {
    host: new URL(endpoint).host,
    close,
  };
}

/** As CloudFront refuses by itself: a page, in no envelope. */
function reject(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Type': 'text/html' }).end('<h1>Error</h1>');
}

/** Makes of the viewer's request the one that the origin gets: its own host and headers, and what the function set. */
function prepare(request: IncomingMessage, path: string, { viewerRequest, origin }: Behavior): void {
  const set = new Map<string, string>();
  if (viewerRequest) {
    const before = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, { value: String(value) }]),
    );
    const after = viewerRequest({
      method: request.method ?? '',
      uri: path,
      headers: structuredClone(before),
    });
    for (const [name, { value }] of Object.entries(after))
      if (before[name]?.value !== value) set.set(name, value);
  }
  // Last, so that no viewer can name them.
  for (const [name, value] of origin.customHeaders) set.set(name.toLowerCase(), value);
  set.set('host', origin.domainName);

  const raw: string[] = [];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] ?? '';
    if (!set.has(name.toLowerCase())) raw.push(name, request.rawHeaders[index + 1] ?? '');
  }
  for (const [name, value] of set) {
    raw.push(name, value);
    request.headers[name] = value;
  }
  request.rawHeaders = raw;
}
