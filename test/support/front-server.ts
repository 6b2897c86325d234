import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request to a service that is scripted, or that stands behind. */
export interface FrontRequest {
  method: string;
  /** Below the base address, with the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  response: ServerResponse;
  /** Answers with an envelope. */
  respond(status: number, envelope: Record<string, unknown>, headers?: Record<string, string>): void;
  /** Hands the request to the service behind; its answer goes nowhere. */
  forward(): Promise<Response>;
  /** Hands it to the service behind, and its answer back. */
  pass(): Promise<void>;
  /** Cuts the connection. */
  reset(): void;
}

export interface FrontServer {
  baseUrl: string;
  requests: FrontRequest[];
  /** What becomes of a request. */
  serve: (request: FrontRequest) => Promise<void> | void;
  close(): Promise<void>;
}

export const envelope = (data: unknown, fields: Record<string, unknown> = {}) => ({
  data,
  message: null,
  error_code: 0,
  ...fields,
});

/**
 * A server of the interface that does what a test says, in front of the whole service or of nothing.
 * @param behind the base address of a service
 */
export async function startFront(upstream = 'http://127.0.0.1:9'): Promise<FrontServer> {
  const front: Omit<FrontServer, 'baseUrl' | 'close'> = { requests: [], serve: (request) => request.pass() };
  const server = createServer(async (incoming, response) => {
    const request = await openRequest(incoming, response, upstream);
    front.requests.push(request);
    await front.serve(request);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return Object.assign(front, {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  });
}

async function openRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  upstream: string,
): Promise<FrontRequest> {
  const { method = '', headers } = incoming;
  const path = (incoming.url ?? '').replace(/^\/api\/v1/, '');
  const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString();
  const forward = () =>
    fetch(upstream + path, {
      method,
      headers: {
        'x-api-key': String(headers['x-api-key']),
        ...(headers['idempotency-key'] !== undefined && {
          'idempotency-key': String(headers['idempotency-key']),
        }),
        ...(body !== '' && { 'Content-Type': 'application/json' }),
      },
      ...(body !== '' && { body }),
    });
  return {
    method,
    path,
    headers,
    body,
    response,
    forward,
    respond(status, content, more = {}) {
      response.writeHead(status, { 'Content-Type': 'application/json', ...more });
      response.end(JSON.stringify(content));
    },
    async pass() {
      try {
        const respond = await forward();
        response.writeHead(respond.status, { 'Content-Type': respond.headers.get('content-type') ?? '' });
        for await (const chunk of respond.body ?? []) response.write(chunk);
        response.end();
      } catch {
        response.destroy();
      }
    },
    reset: () => response.destroy(),
  };
}
