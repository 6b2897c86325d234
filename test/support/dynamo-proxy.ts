import { once } from 'node:events';
import { createServer, type IncomingMessage, request as openRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from './listen-locally.ts';

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
  /** Where calls are forwarded to; set when the service runs. */
  emulator: string;
  /**
   * Handles each call. `pass` forwards the call to the emulator and returns the response, or undefined if the
   * connection broke. If `handle` returns undefined, the proxy closes the connection without a response.
   */
  handle: (
    call: ProxiedCall,
    pass: () => Promise<ProxiedResponse | undefined>,
  ) => Promise<ProxiedResponse | undefined>;
  close(): Promise<void>;
}

/** A proxy between the functions and an AWS service, for failures that occur after a call was carried out. */
export async function startDynamoProxy(): Promise<DynamoProxy> {
  const proxy: Pick<DynamoProxy, 'emulator' | 'handle'> = { emulator: '', handle: (_, pass) => pass() };
  const server = createServer(async (request, response) => {
    const received = await text(request);
    const call: ProxiedCall = {
      target: String(request.headers['x-amz-target']).split('.').pop() ?? '',
      functionName: String(request.headers['x-amz-security-token']),
      body: JSON.parse(received) as Record<string, unknown>,
    };
    const pass = async (): Promise<ProxiedResponse | undefined> => {
      // The Host header is forwarded too, because the signature includes it.
      const { connection: _, ...headers } = request.headers;
      try {
        const forwarded = openRequest(proxy.emulator, { method: 'POST', headers }).end(received);
        const [proxied] = (await once(forwarded, 'response')) as [IncomingMessage];
        return { status: proxied.statusCode ?? 0, body: await text(proxied) };
      } catch {
        return undefined;
      }
    };
    const proxied = await proxy.handle(call, pass);
    if (proxied === undefined) return void request.socket.destroy();
    response.writeHead(proxied.status, { 'Content-Type': 'application/x-amz-json-1.0' });
    response.end(proxied.body);
  });
  return Object.assign(proxy, await listenLocally(server));
}
