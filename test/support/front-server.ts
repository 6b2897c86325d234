import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenLocally } from './listen-locally.ts';

export const envelope = (data: unknown, fields: Record<string, unknown> = {}) => ({
  data,
  message: null,
  error_code: 0,
  ...fields,
});

/**
 * A server between a client and a service, or instead of the service. A test scripts its responses.
 * @param upstream the base address of a service
 */
export async function startFront(upstream = 'http://127.0.0.1:9') {
  const front = {
    requests: [] as FrontRequest[],
    /** Handles each request. */
    serve: (request: FrontRequest): Promise<void> | void => request.pass(),
  };
  const server = createServer(async (incoming, response) => {
    const request = await openRequest(incoming, response, upstream);
    front.requests.push(request);
    await front.serve(request);
  });
  const { url, close } = await listenLocally(server);
  return Object.assign(front, { baseUrl: `${url}/api/v1`, close });
}

/** A request to the front server. */
export type FrontRequest = Awaited<ReturnType<typeof openRequest>>;

async function openRequest(incoming: IncomingMessage, response: ServerResponse, upstream: string) {
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
    /** Below the base address, with the query. */
    path,
    headers,
    body,
    response,
    /** Forwards the request to the upstream service; the client does not get the response. */
    forward,
    /** Responds with an envelope. */
    respond(status: number, content: Record<string, unknown>, more: Record<string, string> = {}): void {
      response.writeHead(status, { 'Content-Type': 'application/json', ...more });
      response.end(JSON.stringify(content));
    },
    /** Forwards the request to the upstream service, and its response to the client. */
    async pass(): Promise<void> {
      try {
        const { status, headers: upstreamHeaders, body: chunks } = await forward();
        response.writeHead(status, { 'Content-Type': upstreamHeaders.get('content-type') ?? '' });
        for await (const chunk of chunks ?? []) response.write(chunk);
        response.end();
      } catch {
        response.destroy();
      }
    },
    /** Cuts the connection. */
    reset: () => void response.destroy(),
  };
}
