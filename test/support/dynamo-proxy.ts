import { once } from 'node:events';
import { createServer, type IncomingMessage, request as openRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ProxiedCall {
  /** The operation, such as `PutItem`. */
  target: string;
  /** The caller's session token, which for a function is its name. */
  functionName: string;
  body: Record<string, unknown>;
}

interface ProxiedResponse {
  status: number;
  body: string;
}

export interface DynamoProxy {
  /** For AWS_ENDPOINT_URL_DYNAMODB, or another service that speaks JSON. */
  url: string;
  /** Where calls go on to: known only when the service runs. */
  emulator: string;
  /** Decides about each call; `undefined` loses its answer: the connection breaks, as when the engine's has. */
  handle: (
    call: ProxiedCall,
    pass: () => Promise<ProxiedResponse | undefined>,
  ) => Promise<ProxiedResponse | undefined>;
  close(): Promise<void>;
}

/** Stands between the functions and a service of AWS: for what goes wrong behind a call that was carried out. */
export async function startDynamoProxy(): Promise<DynamoProxy> {
  const proxy: Pick<DynamoProxy, 'emulator' | 'handle'> = { emulator: '', handle: (_, pass) => pass() };
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    const call: ProxiedCall = {
      target: String(request.headers['x-amz-target']).split('.').pop() ?? '',
      functionName: String(request.headers['x-amz-security-token']),
      body: JSON.parse(text) as Record<string, unknown>,
    };
    const pass = async (): Promise<ProxiedResponse | undefined> => {
      // The host too: it is signed.
      const { connection: _, ...headers } = request.headers;
      try {
        const passed = openRequest(proxy.emulator, { method: 'POST', headers }).end(text);
        const [proxied] = (await once(passed, 'response')) as [IncomingMessage];
        return { status: proxied.statusCode ?? 0, body: await textOf(proxied) };
      } catch {
        return undefined;
      }
    };
    const proxied = await proxy.handle(call, pass);
    if (proxied === undefined) return void request.socket.destroy();
    response.writeHead(proxied.status, { 'Content-Type': 'application/x-amz-json-1.0' });
    response.end(proxied.body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = await Array.fromAsync(request);
  return Buffer.concat(chunks).toString();
}
