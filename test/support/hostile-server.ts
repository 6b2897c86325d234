import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { hostileEndpoints } from './hostile-endpoints.ts';
import { listenLocally } from './listen-locally.ts';

/** Serves `hostileEndpoints` in a process of its own. The path is an index; after the last one a tool says hello. */
export async function startHostileServer(): Promise<{ port: number; close(): void }> {
  const child = fork(import.meta.filename, ['serve'], { stdio: 'ignore', execArgv: [] });
  const [port] = (await once(child, 'message')) as [number];
  return { port, close: () => child.kill() };
}

async function serve(): Promise<void> {
  const server = createServer(async (request, response) => {
    response.on('error', () => undefined);
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    const { id, method } = body === '' ? ({} as never) : JSON.parse(body);
    const [, , respond] = hostileEndpoints[Number(request.url?.slice(1))] ?? [];
    const { headers } = request;
    respond?.({ http: request.method ?? '', method, params: {}, headers, body }, response, id ?? 0);
    if (respond !== undefined) return;
    const result = { content: [{ type: 'text', text: 'Hello' }], resultType: 'complete' };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  const { port } = await listenLocally(server);
  process.send?.(port);
}

if (process.argv[2] === 'serve') await serve();
