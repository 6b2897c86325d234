import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';

/**
 * Calls `onRequest` when this thread starts an outgoing HTTP request with node:http, node:https, fetch or node:http2.
 */
export function watchNetwork(onRequest: (request: string) => void): void {
  subscribe('http.client.request.start', (message) => {
    const { request } = message as { request: ClientRequest };
    onRequest(`${request.method} ${request.protocol}//${request.host}${request.path}`);
  });
  subscribe('undici:request:create', (message) => {
    const { request } = message as { request: { method: string; origin: string; path: string } };
    onRequest(`${request.method} ${request.origin}${request.path}`);
  });
  subscribe('http2.client.stream.start', (message) => {
    const { headers } = message as { stream: ClientHttp2Stream; headers: Record<string, string> };
    onRequest(`${headers[':method']} ${headers[':scheme']}://${headers[':authority']}${headers[':path']}`);
  });
}
