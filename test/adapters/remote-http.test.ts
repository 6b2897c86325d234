import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';
import type { ToolAuth } from '#contract/tools.ts';
import type { RemoteRequest } from '#domain/tools/remote-tools.ts';
import { credentialOf } from '#domain/tools/tool-secret.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Received {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  socket: number | undefined;
}

async function serve(respond: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers, socket } = request;
    received.push({ method, url, headers, socket: socket.remotePort });
    respond(request, response, Buffer.concat(await Array.fromAsync(request)).toString());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closing.push(
    () => server.closeAllConnections(),
    () => new Promise((closed) => server.close(closed)),
  );
  return { received, port: (server.address() as AddressInfo).port };
}

const noTokens = () => expect.unreachable();
const canary = 'canary-secret-1';
const bearer: ToolAuth = { type: 'bearer', secret: 'crm' };

function open(port: number, { values = [canary], allow = true, depth = 0 } = {}) {
  const forgotten: string[] = [];
  const secrets = {
    valueFor: async (_workspaceId: string, name: string) => ({
      value: values[Math.min(forgotten.length, values.length - 1)] ?? '',
      forget: () => forgotten.push(name),
    }),
  };
  const http = remoteHttp({
    rules: {
      allow: allow ? [{ host: '127.0.0.1', port }] : [],
      denied: [],
      resolve: async () => ['127.0.0.1'],
    },
    credentialOf: (auth, target) => credentialOf(secrets, auth, target, noTokens),
    depth: () => depth,
  });
  const pool = http.openPool();
  closing.push(() => pool.close());
  const request = (changes: Partial<RemoteRequest> = {}): RemoteRequest => ({
    ...{ workspaceId: 'ws', url: new URL(`http://127.0.0.1:${port}/mcp`), method: 'POST', headers: {} },
    ...{ body: Buffer.from('{}'), auth: bearer, timeout: 2000, maxBytes: 10_000, pool },
    signal: new AbortController().signal,
    ...changes,
  });
  const send = (changes?: Partial<RemoteRequest>) =>
    http.send(request(changes), async ({ status, redact }, chunks) => ({
      status,
      text: redact(Buffer.concat(await Array.fromAsync(chunks)).toString()),
    }));
  return { send, forgotten };
}

it('sends exactly the headers that it should, over one connection', async () => {
  const { received, port } = await serve((_request, response) => response.end('ok'));
  const { send } = open(port, { depth: 1 });
  await send({ headers: { 'X-Tenant': '7' } });
  await send({ headers: { 'X-Tenant': '7' } });
  expect(received[0]?.headers).toEqual({
    ...{
      'accept-encoding': 'gzip, deflate, br',
      authorization: `Bearer ${canary}`,
      connection: 'keep-alive',
    },
    ...{ 'content-length': '2', host: `127.0.0.1:${port}`, 'user-agent': 'agent-service-tools' },
    ...{ 'x-agent-depth': '2', 'x-tenant': '7' },
  });
  expect(received[1]?.socket).toBe(received[0]?.socket);
});

it.each([301, 302, 303, 307, 308])('does not follow a %i, also to the same server', async (status) => {
  const { received, port } = await serve((_request, response) =>
    response.writeHead(status, { Location: '/elsewhere' }).end(),
  );
  await expect(open(port).send()).rejects.toMatchObject({ kind: 'redirects' });
  await expect(open(port).send({ method: 'GET', body: undefined })).rejects.toMatchObject({
    kind: 'redirects',
  });
  expect(received.map(({ url }) => url)).toEqual(['/mcp', '/mcp']);
});

it('takes a new credential once after a 401, and no further one', async () => {
  const { received, port } = await serve(({ headers }, response) =>
    response.writeHead(headers.authorization === 'Bearer second value' ? 200 : 401).end('said'),
  );
  const rotated = open(port, { values: ['first value', 'second value'] });
  expect(await rotated.send()).toEqual({ status: 200, text: 'said' });
  expect(rotated.forgotten).toEqual(['crm']);
  expect(await open(port, { values: ['wrong value'] }).send()).toMatchObject({ status: 401 });
  expect(received).toHaveLength(4);
});

it('closes the connection of a body without an end that it does not read', async () => {
  let isClosed = false;
  const { port } = await serve(({ headers, socket }, response) => {
    if (headers.authorization === 'Bearer second value') response.end('said');
    else {
      response.writeHead(401).write('no '.repeat(1000));
      socket.on('close', () => {
        isClosed = true;
      });
    }
  });
  const rotated = open(port, { values: ['first value', 'second value'] });
  expect(await rotated.send()).toEqual({ status: 200, text: 'said' });
  await vi.waitFor(() => expect(isClosed).toBe(true), 1000);
});

it('removes the credential from what the server repeats', async () => {
  const { port } = await serve(({ headers, url }, response) =>
    response.end(JSON.stringify({ headers, url })),
  );
  const basic = Buffer.from(`ada:${canary}`).toString('base64');
  for (const auth of [
    bearer,
    { type: 'header', name: 'X-Key', prefix: '', secret: 'crm' },
    { type: 'basic', username: 'ada', secret: 'crm' },
    { type: 'query', name: 'key', secret: 'crm' },
  ] as const) {
    const { text } = await open(port).send({ auth });
    expect(text).toContain('[secret]');
    expect(text).not.toMatch(new RegExp(`${canary}|${basic}`));
  }
});

it('sends a secret over plain http to an allowed address alone, and nothing to an internal one', async () => {
  const { received, port } = await serve((_request, response) => response.end());
  await expect(open(port, { allow: false }).send()).rejects.toThrow('A secret is sent over https alone');
  const internal = { auth: undefined, url: new URL(`http://internal.test:${port}/`) };
  await expect(open(port, { allow: false }).send(internal)).rejects.toMatchObject({ kind: 'forbidden' });
  await expect(open(port, { allow: false }).send({ auth: undefined })).rejects.toMatchObject({
    kind: 'forbidden',
  });
  expect(received).toEqual([]);
});

it('bounds what it reads', async () => {
  const { port } = await serve((_request, response) => response.end('x'.repeat(10_001)));
  await expect(open(port).send()).rejects.toMatchObject({ kind: 'too-large' });
});
