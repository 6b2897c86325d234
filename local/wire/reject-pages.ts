import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';

/** Any port is allowed with these names, because a tunnel may have another port. */
const ownHosts = new Set(['127.0.0.1', 'localhost', '[::1]']);

export function isOwnHost(host = ''): boolean {
  const [, name = ''] = /^(.*?)(?::\d+)?$/.exec(host) ?? [];
  return ownHosts.has(name.toLowerCase());
}

export const pagesRejected =
  'Only 127.0.0.1 and localhost are served, and no pages of other origins. The setting corsOrigins allows origins at the main port.';

/**
 * The host is checked because of DNS rebinding: a page may give its own host name this machine's address.
 * @param origins the allowed ones; `*` allows every origin and host
 */
function isRejected({ host, origin }: IncomingHttpHeaders, origins: readonly string[]): boolean {
  if (origins.includes('*')) return false;
  // Only HTTP/1.0 allows a request without a host, and no browser sends it.
  if (host !== undefined && !isOwnHost(host)) return true;
  return origin !== undefined && !origins.includes(origin);
}

/** For servers without pages of their own: true for every `Origin`, and for hosts that are not in `ownHosts`. */
export const isFromPage = (headers: IncomingHttpHeaders): boolean => isRejected(headers, []);

/**
 * Call it when the server has its listeners.
 * @param origins returns the allowed ones for a request's host
 */
export function rejectPages(server: Server, origins: (host: string) => readonly string[] = () => []): void {
  for (const event of ['request', 'checkExpectation']) {
    const listeners = server.listeners(event);
    if (listeners.length === 0) continue;
    server.removeAllListeners(event).on(event, (request: IncomingMessage, response: ServerResponse) => {
      if (isRejected(request.headers, origins(request.headers.host ?? ''))) reject(request, response);
      else for (const listener of listeners) Reflect.apply(listener, server, [request, response]);
    });
  }
}

function reject(request: IncomingMessage, response: ServerResponse): void {
  // Some clients read the response only after they have sent the whole body.
  request.resume();
  response.writeHead(403, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${pagesRejected}\n`);
}
