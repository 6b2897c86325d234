import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { RunContext } from '../run-context.ts';
import type { RecordedCall } from '../run-options.ts';
import { type Listening, listenOnLoopback } from './listen-on-loopback.ts';

/** Host and body stay unchanged, so signatures stay valid. */
export async function recordCalls(
  service: string,
  endpoint: string,
  onCall: (call: RecordedCall) => void,
): Promise<Listening> {
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
        onCall({
          service,
          operation: operationOf(request),
          name: request.headers['x-amz-security-token']?.toString(),
          status: incoming.statusCode ?? 0,
          bytes: { sent: sent(), received: received() },
          milliseconds: performance.now() - start,
        }),
      );
      response.writeHead(incoming.statusCode ?? 502, incoming.headers);
      incoming.on('error', () => response.destroy());
      incoming.pipe(response);
    });
    request.on('error', () => outgoing.destroy());
    response.on('close', () => {
      if (!response.writableFinished) outgoing.destroy();
    });
    request.pipe(outgoing);
  });
  const { endpoint: recorderEndpoint, close } = await listenOnLoopback(server);
  return {
    endpoint: recorderEndpoint,
    async close() {
      await close();
      agent.destroy();
    },
  };
}

function countBytes(message: IncomingMessage): () => number {
  let bytes = 0;
  message.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  return () => bytes;
}

/** The operation of a request. AWS's JSON protocols name it in a header, AWS's REST protocols by method and URL. */
function operationOf({ headers, method, url = '/' }: IncomingMessage): string {
  const target = headers['x-amz-target'];
  if (target !== undefined) return String(target).split('.').pop() ?? '';
  const { pathname, searchParams } = new URL(url, 'http://service');
  if (pathname.endsWith('/invocations')) return 'Invoke';
  const subresource = ['tagging', 'uploads', 'uploadId', 'delete', 'list-type'].find((name) =>
    searchParams.has(name),
  );
  const resource = pathname.split('/')[2] ? 'object' : 'bucket';
  return `${method} ${resource}${subresource === undefined ? '' : `?${subresource}`}`;
}

/** dynamodb/serve-wire.ts records allowed calls to DynamoDB, with the consumed capacity. */
const RECORDED_ELSEWHERE = 'dynamodb';

/** Opens a recorder for each service that has an endpoint now, except DynamoDB. */
export async function openRecorders({ endpoints, calls }: RunContext) {
  const wires = await Promise.all(
    Object.entries(endpoints)
      .filter(([service, endpoint]) => endpoint !== '' && service !== RECORDED_ELSEWHERE)
      .map(async ([service, endpoint]) => ({
        endpoint,
        wire: await recordCalls(service, endpoint, (call) => calls.push(call)),
      })),
  );
  const recorderOf = new Map(wires.map(({ endpoint, wire }) => [endpoint, wire.endpoint]));
  return {
    redirect: (variables: Record<string, string>): Record<string, string> =>
      Object.fromEntries(
        Object.entries(variables).map(([name, value]) => [
          name,
          name.startsWith('AWS_ENDPOINT_URL_') ? (recorderOf.get(value) ?? value) : value,
        ]),
      ),
    async close(): Promise<void> {
      await Promise.all(wires.map(({ wire }) => wire.close()));
    },
  };
}
