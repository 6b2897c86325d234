import { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { openMcp } from '#adapters/mcp/mcp-client.ts';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';

const calls = 20;

/** A server in a thread of its own, so that its responses come while the client parses. */
const server = `
const { createServer } = require('node:http');
const { parentPort } = require('node:worker_threads');
const contents = '[' + Array(16_000).fill('{"type":"text","text":"x"}').join() + ']';
let waiting = [];
createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    waiting.push(() => response.end('{"jsonrpc":"2.0","id":' + JSON.parse(body).id + ',"result":{"content":' + contents + '}}'));
    if (waiting.length < ${calls}) return;
    for (const respond of waiting) respond();
    waiting = [];
  });
}).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port); });
`;

it('twenty large responses at once are parsed in a turn of the event loop each, so that other replies go on', async () => {
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
  let turn = 0;
  const count = () => {
    turn += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const turns: number[] = [];
  const parse = JSON.parse;
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (text.length > 100_000) turns.push(turn);
    return parse(text, reviver);
  });
  const results = await Promise.allSettled(Array.from({ length: calls }, one));
  vi.restoreAllMocks();
  clearImmediate(next);
  const failure = { status: 'rejected', reason: expect.objectContaining({ kind: 'protocol' }) };
  expect(results).toEqual(Array(calls).fill(failure));
  expect(turns).toHaveLength(calls);
  expect(new Set(turns).size, String(turns)).toBe(calls);
  pool.close();
  await thread.terminate();
}, 30_000);
