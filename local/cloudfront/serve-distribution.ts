import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { headerPairs } from '../gateway/response-headers.ts';
import type { RunContext } from '../run-context.ts';
import { openSite } from '../site/serve-site.ts';
import { listenOnLoopback } from '../wire/listen-on-loopback.ts';
import { createErrorCache } from './error-cache.ts';
import { limitSilence } from './limit-silence.ts';
import type { Behavior, Distribution } from './read-distribution.ts';
import { changeHeaders } from './response-headers-policy.ts';

export interface DistributionServer {
  /** Host and port. */
  readonly host: string;
  close(): Promise<void>;
}

// CloudFront's limit for the request line and headers. The server here does not enforce it: it accepts four times as
// much.
const MAX_HEADER_BYTES = 32 * 1024;

// The timeout of a client's idle connection: the same as that of the gateway (local/gateway/serve-rest-api.ts).
const KEEP_ALIVE_MILLISECONDS = 350_000;

/**
 * Starts the server of a distribution. It forwards a request to the origin of the first behavior whose pattern matches
 * the path, unless an error is cached for the path. It also serves the run's site.
 */
export async function serveDistribution(
  { behaviors, errorSeconds }: Distribution,
  { options: { port, site, pageOrigins = ['*'] }, origins }: Pick<RunContext, 'options' | 'origins'>,
): Promise<DistributionServer> {
  const errors = createErrorCache(errorSeconds);
  const serveSite = await openSite(site);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (serveSite(request, response)) return;
    const { method = '', url = '/', headers } = request;
    const [path = '/'] = url.split('?');
    const behavior = behaviors.find(({ pattern }) => pattern.test(path));
    const respond = behavior && origins.get(behavior.origin.domainName);
    if (!behavior || !respond) return void reject(response, 502);
    if (!behavior.methods.includes(method)) return void reject(response, 403);
    // CloudFront finds the distribution by the host. Only HTTP/1.0 allows a request without a host.
    if (headers.host === undefined) return void reject(response, 400);
    // Called first, so that its own error has no other headers and is not cached.
    limitSilence(request, response, behavior.origin.readTimeoutMilliseconds);
    // Called before the cache observes the response, so that the cache stores the origin's headers, not the changed
    // ones.
    if (behavior.responseHeaders) changeHeaders(response, behavior.responseHeaders(request));
    if (errors.respond(request, path, response)) return;
    toOriginRequest(request, path, behavior);
    void respond(request, response);
  };
  const server = createServer(
    // Without a request timeout: only the origin limits the time of an upload.
    { keepAliveTimeout: KEEP_ALIVE_MILLISECONDS, maxHeaderSize: 4 * MAX_HEADER_BYTES, requestTimeout: 0 },
    serve,
  );
  // Without this listener, Node.js responds with 417 to an unknown `Expect` header. CloudFront removes the header.
  server.on('checkExpectation', serve);
  const { endpoint, close } = await listenOnLoopback(server, { port, pageOrigins });
  return { host: new URL(endpoint).host, close };
}

/** Sends an error of CloudFront itself. Such an error is an HTML page, without the service's envelope. */
function reject(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Type': 'text/html' }).end('<h1>Error</h1>');
}

/**
 * Changes the client's request for the origin: sets the origin's host and headers, and the headers that the
 * viewer-request function has changed or added.
 */
function toOriginRequest(request: IncomingMessage, path: string, { viewerRequest, origin }: Behavior): void {
  const set = new Map<string, string>();
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
  }
  // Set last, so that a client cannot override these headers.
  for (const [name, value] of origin.customHeaders) set.set(name.toLowerCase(), value);
  set.set('host', origin.domainName);

  const others = headerPairs(request.rawHeaders).filter(([name]) => !set.has(name.toLowerCase()));
  request.rawHeaders = [...others, ...set].flat();
  for (const [name, value] of set) request.headers[name] = value;
}
