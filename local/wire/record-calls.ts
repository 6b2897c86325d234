import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { listenOnLoopback } from './listen-on-loopback.ts';
import type { RecordedCall } from './recorded-call.ts';

export interface RecordingOptions {
  readonly service: string;
  /** Where the service is. */
  readonly endpoint: string;
  readonly retain: (call: RecordedCall) => void;
}

export interface RecordingWire {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** Stands in front of a service and tells what is asked of it; all bytes pass as they are, so signatures hold. */
export async function recordCalls({ service, endpoint, retain }: RecordingOptions): Promise<RecordingWire> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((request, response) => {
    const start = performance.now();
    const outgoing = httpRequest(endpoint, {
      agent,
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: request.headers,
    });
    const sent = countBytes(request);
    outgoing.on('error', () => response.destroy());
    outgoing.on('response', (incoming) => {
      const received = countBytes(incoming);
      incoming.on('end', () =>
        retain({
          service,
          operation: operationOf(request),
          name: request.headers['x-amz-security-token']?.toString(),
          status: incoming.statusCode ?? 0,
          bytes: { sent: sent(), received: received() },
          milliseconds: performance.now() - start,
        }),
      );
      pass(incoming, response);
    });
    request.on('error', () => outgoing.destroy());
    response.on('close', () => {
      if (!response.writableFinished) outgoing.destroy();
    });
    request.pipe(outgoing);
  });
  const { endpoint: own, close } = await listenOnLoopback(server);
  return {
    endpoint: own,
    async close() {
      await close();
      agent.destroy();
    },
  };
}

function pass(incoming: IncomingMessage, response: ServerResponse): void {
  response.writeHead(incoming.statusCode ?? 502, incoming.headers);
  incoming.on('error', () => response.destroy());
  incoming.pipe(response);
}

function countBytes(message: IncomingMessage): () => number {
  let bytes = 0;
  message.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  return () => bytes;
}

/** AWS's JSON protocols name it in a header, REST protocols by method and path. */
function operationOf({ headers, method, url = '/' }: IncomingMessage): string {
  const target = headers['x-amz-target'];
  if (target !== undefined) return String(target).split('.').pop() ?? '';
  const { pathname, searchParams } = new URL(url, 'http://service');
  if (pathname.endsWith('/invocations')) return 'Invoke';
  const about = ['tagging', 'uploads', 'uploadId', 'delete', 'list-type'].find((name) =>
    searchParams.has(name),
  );
  const what = pathname.split('/').length > 2 && pathname.split('/')[2] !== '' ? 'object' : 'bucket';
  return `${method} ${what}${about === undefined ? '' : `?${about}`}`;
}
