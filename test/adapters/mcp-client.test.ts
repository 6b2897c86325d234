import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openMcp } from '#adapters/mcp/mcp-client.ts';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';
import { resultOf } from '#agents/tools/kinds/mcp.ts';
import type { McpCall, McpTarget } from '#domain/tools/remote-tools.ts';
import { credentialOf } from '#domain/tools/tool-secret.ts';
import { hostileEndpoints } from '#support/hostile-endpoints.ts';
import { type ScriptedMcp, scriptedMcp } from '#support/scripted-mcp.ts';

const canary = 'canary-secret-1';
const secrets = { valueFor: async () => ({ value: canary, forget: () => undefined }) };
const call: McpCall = { tool: 'echo', args: { a: 1 }, schema: { type: 'object' }, parameterHeaders: {} };
const { signal } = new AbortController();
const completed = (id: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [], resultType: 'complete' } });

function connect(server: Pick<ScriptedMcp, 'url'>, changes: Partial<McpTarget> = {}) {
  const url = new URL(server.url);
  const http = remoteHttp({
    rules: {
      allow: [{ host: url.hostname, port: Number(url.port) }],
      denied: [],
      resolve: async () => ['127.0.0.1'],
    },
    credentialOf: (auth, target) => credentialOf(secrets, auth, target, () => expect.unreachable()),
    depth: () => 0,
  });
  const pool = http.openPool();
  const connection = openMcp(http, {
    ...{ workspaceId: 'ws', url, protocol: '2026-07-28', headers: {}, timeout: 60_000, pool },
    auth: { type: 'bearer', secret: 'crm' },
    ...changes,
  });
  onTestFinished(() => pool.close());
  return connection;
}

let server: ScriptedMcp;
beforeEach(async () => {
  server = await scriptedMcp();
  onTestFinished(() => server.close());
});

describe('a call', () => {
  it('is one request in the later era, with the headers of the protocol', async () => {
    const connection = connect(server, { headers: { 'X-Tenant': '7' } });
    const schema = { type: 'object', properties: { region: { type: 'string' } } };
    const parameterHeaders = { Region: ['region'] };
    const result = await connection.call(
      { ...call, args: { region: 'Ä' }, schema, parameterHeaders },
      signal,
    );
    await connection.close();
    expect(result).toMatchObject({ content: [{ type: 'text', text: '{"region":"Ä"}' }] });
    expect(server.methods()).toEqual(['tools/call']);
    expect(server.received[0]?.headers).toEqual({
      ...{ accept: 'application/json, text/event-stream', 'accept-encoding': 'gzip, deflate, br' },
      ...{ authorization: `Bearer ${canary}`, connection: 'keep-alive', 'content-type': 'application/json' },
      ...{ 'content-length': expect.any(String), host: server.host, 'user-agent': 'agent-service-tools' },
      ...{ 'mcp-method': 'tools/call', 'mcp-name': 'echo', 'mcp-protocol-version': '2026-07-28' },
      ...{ 'mcp-param-region': '=?base64?w4Q=?=', 'x-agent-depth': '1', 'x-tenant': '7' },
    });
  });

  it.each([false, true])('of the earlier era has one session a connection, streams: %s', async (streams) => {
    Object.assign(server, { era: 'legacy', streams });
    const connection = connect(server, { protocol: '2025-11-25' });
    await connection.call(call, signal);
    await Promise.all([connection.call(call, signal), connection.call(call, signal)]);
    await connection.close();
    const calls = ['tools/call', 'tools/call', 'tools/call'];
    expect(server.methods()).toEqual(['initialize', 'notifications/initialized', ...calls, 'DELETE']);
  });

  it('tries the other era once, after a rejection that proves that nothing ran', async () => {
    server.era = 'legacy';
    await connect(server).call(call, signal);
    expect(server.methods()).toEqual(['tools/call', 'initialize', 'notifications/initialized', 'tools/call']);
    Object.assign(server, { era: 'modern', received: [] });
    await connect(server, { protocol: '2025-11-25' }).call(call, signal);
    expect(server.methods()).toEqual(['initialize', 'tools/call']);
  });

  it('and a parallel one try the other era together', async () => {
    server.era = 'legacy';
    const connection = connect(server);
    await Promise.all([connection.call(call, signal), connection.call(call, signal)]);
    expect(server.methods().filter((method) => method === 'initialize')).toHaveLength(1);
  });

  it('is not repeated after a failure of the server', async () => {
    server.override = (_request, response) => Boolean(response.writeHead(503).end());
    await expect(connect(server).call(call, signal)).rejects.toMatchObject({ name: 'OutboundFailure' });
    expect(server.received).toHaveLength(1);
  });

  it('gets a new session once, if the server has ended it', async () => {
    server.era = 'legacy';
    const connection = connect(server, { protocol: '2025-11-25' });
    await connection.call(call, signal);
    server.forget();
    await connection.call(call, signal);
    expect(server.methods().filter((method) => method === 'initialize')).toHaveLength(2);
    server.override = ({ method }, response) =>
      method === 'tools/call' && Boolean(response.writeHead(404).end());
    await expect(connection.call(call, signal)).rejects.toMatchObject({ kind: 'refused' });
  });

  it('reads at most 2 MB of all its responses together', async () => {
    const megabyte = (count: number) => 'x'.repeat(count * 1_000_000);
    const respondWith = (count: number) => {
      server.call = () => ({ content: [{ type: 'text', text: megabyte(count) }] });
      server.override = ({ method, headers }, response) =>
        method === 'tools/call' &&
        headers['mcp-protocol-version'] === '2026-07-28' &&
        Boolean(response.writeHead(400).end(megabyte(1)));
    };
    respondWith(0.9);
    await connect(server).call(call, signal);
    respondWith(1.1);
    await expect(connect(server).call(call, signal)).rejects.toMatchObject({ kind: 'too-large' });
  });

  it('goes on with a stream that ended before the response', async () => {
    server.override = ({ http, headers }, response, id) => {
      if (http === 'POST') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: 7\nretry: 10\ndata:\n\n');
        requested = id;
        return true;
      }
      expect(headers['last-event-id']).toBe('7');
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: ${completed(requested)}\n\n`);
      return true;
    };
    let requested: unknown;
    expect(await connect(server).call(call, signal)).toMatchObject({ content: [] });
  });

  it('drops what a stream has after the response, and uses the connection again', async () => {
    const sockets = new Set<unknown>();
    server.override = (_request, response, id) => {
      sockets.add(response.socket);
      const message = completed(id);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${message}\n\n`);
      setTimeout(() => response.end(`retry: 5\n\ndata: ${message}\n\nretry: 6\ndata: {\n\n`), 20);
      return true;
    };
    const connection = connect(server);
    for (const _ of [1, 2]) {
      expect(await connection.call(call, signal)).toMatchObject({ content: [] });
      await new Promise((passed) => setTimeout(passed, 100));
    }
    expect(sockets.size).toBe(1);
  });

  it('answers a ping of the server, and no other request', async () => {
    server.era = 'legacy';
    const responses: unknown[] = [];
    server.override = ({ method, body }, response, id) => {
      if (method === undefined && body !== '') {
        responses.push(JSON.parse(body));
        return Boolean(response.writeHead(202).end());
      }
      if (method !== 'tools/call') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [index, method] of ['ping', 'sampling/createMessage'].entries())
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: `s${index}`, method: method })}\n\n`);
      setTimeout(
        () => response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`),
        50,
      );
      return true;
    };
    await connect(server, { protocol: '2025-11-25' }).call(call, signal);
    expect(responses).toEqual([
      { jsonrpc: '2.0', id: 's0', result: {} },
      { jsonrpc: '2.0', id: 's1', error: { code: -32601, message: 'Method not found' } },
    ]);
  });

  it('never gives a secret that the server repeats in an error', async () => {
    server.override = ({ headers }, response, id) =>
      Boolean(
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(
            JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: headers.authorization } }),
          ),
      );
    const failed = await connect(server)
      .call(call, signal)
      .catch((error: Error) => error);
    expect(String(failed)).toBe('McpRejection: Bearer [secret]');
  });
});

it.each(hostileEndpoints)('a hostile server costs a failed step: %s', async (_what, kind, override) => {
  server.override = override;
  // The others fail long before the time is over.
  const connection = connect(server, kind === 'timeout' ? { timeout: 1500 } : {});
  await expect(connection.call(call, signal)).rejects.toMatchObject({ name: 'OutboundFailure', kind });
});

/** A server in a thread of its own, so that its responses come while the client parses. */
const busyServer = `
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
    if (waiting.length < 20) return;
    for (const respond of waiting) respond();
    waiting = [];
  });
}).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port); });
`;

it('twenty large responses at once are parsed in a turn of the event loop each, so that other replies go on', async () => {
  const thread = new Worker(busyServer, { eval: true });
  const port = await new Promise<number>((resolve) => thread.once('message', resolve));
  const url = `http://127.0.0.1:${port}/`;
  const one = () => connect({ url }, { timeout: 20_000, auth: undefined }).call(call, signal);
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
  const results = await Promise.allSettled(Array.from({ length: 20 }, one));
  vi.restoreAllMocks();
  clearImmediate(next);
  const failure = { status: 'rejected', reason: expect.objectContaining({ kind: 'protocol' }) };
  expect(results).toEqual(Array(20).fill(failure));
  expect(turns).toHaveLength(20);
  expect(new Set(turns).size, String(turns)).toBe(20);
  await thread.terminate();
}, 30_000);

it('makes a result of what a server gives', () => {
  const link = { type: 'resource_link', uri: 'file:///a', name: 'a', mimeType: 'text/plain' };
  expect(
    resultOf({
      content: [
        { type: 'text', text: 'one' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        link,
        { type: 'resource', resource: { uri: 'x', text: 'two' } },
        { type: 'resource', resource: { uri: 'x', blob: 'AAA=', mimeType: 'a/b' } },
      ],
    }),
  ).toEqual({
    result: 'one\ntwo',
    attachments: [
      { type: 'image', mime_type: 'image/png', bytes: 3 },
      { type: 'resource_link', uri: 'file:///a', name: 'a', mime_type: 'text/plain' },
      { type: 'resource', mime_type: 'a/b', bytes: 2 },
    ],
  });
  const structuredContent = { id: 7 };
  expect(resultOf({ content: [{ type: 'text', text: '{ "id": 7 }' }], structuredContent })).toEqual({
    result: structuredContent,
  });
  expect(resultOf({ content: [{ type: 'text', text: 'Found' }], structuredContent })).toEqual({
    result: structuredContent,
    text: 'Found',
  });
  expect(() => resultOf({ content: [{ type: 'text', text: 'No such customer' }], isError: true })).toThrow(
    'No such customer',
  );
});
