import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { WebhookPayload } from '#contract/batch.ts';
import { certificate } from './certificate.ts';

export interface WebhookCall {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** As received. */
  body: string;
  payload: WebhookPayload;
  /** Epoch milliseconds. */
  at: number;
}

export type Responder = (response: ServerResponse, call: WebhookCall, number: number) => void;

/** Responds with a status and headers. */
export const status =
  (code: number, headers: Record<string, string> = {}): Responder =>
  (response) =>
    response.writeHead(code, headers).end('answered');

/** A receiver of webhooks on loopback, over TLS. */
export async function startWebhookReceiver(...responses: Responder[]) {
  const calls: WebhookCall[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let check = () => {};
  const server = createServer(certificate, async (request, response) => {
    response.on('error', () => undefined);
    const call = await readCall(request);
    calls.push(call);
    const respond = receiver.responses[Math.min(calls.length, receiver.responses.length) - 1] ?? status(200);
    respond(response, call, calls.length);
    check();
  });
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const receiver = {
    /** The host is a name of the certificate. */
    url: `https://localhost:${port}/hook`,
    port,
    calls,
    /** The number of connections since the start. */
    connections: () => connections,
    /** The responses to the calls, in order. The last one is also the response to all further calls. */
    responses,
    /** Resolves when the receiver has received this many calls. */
    called(count: number): Promise<WebhookCall[]> {
      const { promise, resolve } = Promise.withResolvers<WebhookCall[]>();
      const before = check;
      check = () => {
        before();
        if (calls.length >= count) resolve(calls);
      };
      check();
      return promise;
    },
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return receiver;
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>;

async function readCall(request: IncomingMessage): Promise<WebhookCall> {
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers as Record<string, string>,
    body,
    payload: JSON.parse(body) as WebhookPayload,
    at: Date.now(),
  };
}

/** The signature as section 6.2 of the service's specification defines it, computed without the service's code. */
export function expectedSignature(secret: string, call: WebhookCall): string {
  const hash = createHmac('sha256', Buffer.from(secret, 'utf8'));
  return `sha256=${hash.update(Buffer.from(`${call.headers['x-service-timestamp']}.${call.body}`)).digest('hex')}`;
}
