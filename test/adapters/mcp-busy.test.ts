import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { openMcp } from '#adapters/mcp/mcp-client.ts';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';

/** A server in a thread of its own, so that only the client takes time here: each response has 16,000 contents. */
const server = `
const { createServer } = require('node:http');
const { parentPort } = require('node:worker_threads');
const contents = '[' + Array(16_000).fill('{"type":"text","text":"x"}').join() + ']';
createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"jsonrpc":"2.0","id":' + JSON.parse(body).id + ',"result":{"content":' + contents + '}}');
  });
}).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port); });
`;

it('twenty large responses at once do not stop other replies', async () => {
  const thread = new Worker(server, { eval: true });
  const port = await new Promise<number>((resolve) => thread.once('message', resolve));
  const http = remoteHttp({
    rules: { allow: [{ host: '127.0.0.1', port }], denied: [], resolve: async () => [] },
    credentialOf: async () => ({ headers: {}, query: {}, secrets: [], forget: () => undefined }),
    depth: () => 0,
  });
  const pool = http.openPool();
  const target = {
    ...{ workspaceId: 'ws', url: new URL(`http://127.0.0.1:${port}/`), protocol: '2026-07-28', pool },
    ...{ headers: {}, auth: undefined, timeout: 20_000 },
  };
  const call = { tool: 'echo', args: {}, schema: { type: 'object' }, parameterHeaders: {} };
  const one = () => openMcp(http, target).call(call, new AbortController().signal);
  await expect(one()).rejects.toMatchObject({ kind: 'protocol' });
  const parse = JSON.stringify({ content: Array(50_000).fill({ type: 'text', text: 'x' }) });
  const startedAt = performance.now();
  JSON.parse(parse);
  const parsing = performance.now() - startedAt;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const results = await Promise.allSettled(Array.from({ length: 20 }, one));
  delay.disable();
  expect(results.every(({ status }) => status === 'rejected')).toBe(true);
  console.log(`longest turn ${Math.round(delay.max / 1e6)} ms, one parse ${Math.round(parsing)} ms`);
  // Each is parsed in a turn of its own: all together would take twenty times as long.
  expect(delay.max / 1e6).toBeLessThan(Math.max(50, parsing * 12));
  pool.close();
  await thread.terminate();
}, 30_000);
