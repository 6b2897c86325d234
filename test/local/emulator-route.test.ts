import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { bypassWire } from '#local/dynamodb/emulator-route/emulator-route.ts';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';

/** A scripted emulator that writes raw bytes: called for each complete request, with its connection. */
let respond: (socket: Socket, request: string) => void;
let connections = 0;
let requests = 0;
let throughWire: string[] = [];

const emulator = createSocketServer((socket) => {
  connections += 1;
  let received = '';
  socket.on('error', () => {});
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
    const [head = '', body] = received.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/.exec(head)?.[1]);
    if (body === undefined || Buffer.byteLength(body) < length) return;
    const request = received;
    received = '';
    requests += 1;
    respond(socket, request);
  });
});
const wire = createServer((request: IncomingMessage, response: ServerResponse) => {
  throughWire.push(String(request.headers['x-amz-target']));
  response.writeHead(400, { 'Content-Type': 'application/x-amz-json-1.0' });
  response.end(JSON.stringify({ __type: 'AccessDeniedException', message: 'from the wire' }));
});

const http = (body: unknown, status = '200 OK'): string => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: engine-1\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};
const item = { Item: { pk: { S: 'ü-1' } } };

let client: DynamoDBClient;
let stranger: DynamoDBClient;
beforeAll(async () => {
  for (const server of [emulator, wire])
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const addressOf = (server: typeof emulator) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  bypassWire({
    wire: addressOf(wire),
    emulator: addressOf(emulator),
    shapes: new Map(),
    rules: {
      accountId: '123456789012',
      region: 'us-east-1',
      operator: operatorCredentials,
      sessions: new Map(),
      resourcePolicies: new Map(),
      encryptionKeys: new Map(),
    },
  });
  const clientOf = (accessKeyId: string) =>
    new DynamoDBClient({
      endpoint: addressOf(wire),
      region: 'us-east-1',
      credentials: { ...operatorCredentials, accessKeyId },
      maxAttempts: 2,
      requestHandler: new NodeHttpHandler({ requestTimeout: 300, throwOnRequestTimeout: true }),
    });
  client = clientOf(operatorCredentials.accessKeyId);
  stranger = clientOf('somebody');
});
beforeEach(() => {
  [connections, requests, throughWire] = [0, 0, []];
});
afterAll(async () => {
  client.destroy();
  wire.closeAllConnections();
  emulator.close();
  wire.close();
});

const get = (signal?: AbortSignal) =>
  client.send(new GetItemCommand({ TableName: 'table', Key: { pk: { S: 'ü-1' } } }), {
    ...(signal && { abortSignal: signal }),
  });

it('sends the SDK’s request to the engine, with its body and headers', async () => {
  let sent = '';
  respond = (socket, request) => {
    sent = request;
    socket.write(http({}));
  };
  await client.send(new PutItemCommand({ TableName: 'table', Item: { pk: { S: 'ü-1' } } }));
  expect(sent).toMatch(/^POST \/ HTTP\/1\.1\r\n/);
  expect(sent.toLowerCase()).toContain('\r\nx-amz-target: dynamodb_20120810.putitem\r\n');
  expect(sent.toLowerCase().match(/\r\ncontent-length:/g)).toHaveLength(1);
  expect(JSON.parse(sent.split('\r\n\r\n')[1] ?? '')).toEqual({
    TableName: 'table',
    Item: { pk: { S: 'ü-1' } },
  });
  expect(throughWire).toEqual([]);
});

it('reads an answer in whatever pieces it comes, and keeps the connection', async () => {
  const bytes = Buffer.from(http(item));
  const umlaut = bytes.indexOf('ü') + 1;
  for (const cut of [1, 10, bytes.indexOf('\r\n\r\n') + 2, umlaut, bytes.length - 1]) {
    respond = (socket) => {
      socket.write(bytes.subarray(0, cut));
      setImmediate(() => setImmediate(() => socket.write(bytes.subarray(cut))));
    };
    expect((await get()).Item, `cut at ${cut}`).toEqual(item.Item);
  }
  expect(connections).toBeLessThanOrEqual(1);
});

it('has a connection for each call under way', async () => {
  const sockets: Socket[] = [];
  respond = (socket) => {
    sockets.push(socket);
    if (sockets.length === 3) for (const each of sockets) each.write(http(item));
  };
  await Promise.all([get(), get(), get()]);
  expect(new Set(sockets).size).toBe(3);
});

it('knows the engine’s errors by their names', async () => {
  respond = (socket) =>
    socket.write(http({ __type: 'ResourceNotFoundException', message: 'no table' }, '400 Bad Request'));
  await expect(get()).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
    message: 'no table',
    $metadata: { httpStatusCode: 400, requestId: 'engine-1', attempts: 1 },
  });
});

it('tries again when the connection breaks before an answer, within one, or when the answer is none', async () => {
  const broken: ((socket: Socket) => void)[] = [
    (socket) => socket.destroy(),
    (socket) => void socket.end(http(item).slice(0, -3)),
    (socket) => socket.resetAndDestroy(),
  ];
  for (const failure of broken) {
    requests = 0;
    respond = (socket) => (requests === 1 ? failure(socket) : socket.write(http(item)));
    const { Item, $metadata } = await get();
    expect(Item).toEqual(item.Item);
    expect($metadata.attempts).toBe(2);
  }
});

it.each([
  ['has no length', 'HTTP/1.1 200 OK\r\n\r\n{}', 'cannot be read'],
  ['is not HTTP', 'hello\r\n\r\n', 'cannot be read'],
  ['is longer than it says', `${http(item)}more`, 'unexpected data'],
])('fails when the answer %s', async (_what, text, message) => {
  respond = (socket) => socket.write(text);
  await expect(get()).rejects.toThrow(message);
});

it('does not use a connection again that the engine has closed', async () => {
  let used: Socket | undefined;
  respond = (socket) => {
    used = socket;
    socket.end(http(item));
  };
  await get();
  await new Promise((closed) => used?.once('close', closed));
  respond = (socket) => socket.write(http(item));
  expect((await get()).$metadata.attempts).toBe(1);
});

it('does not use a connection again that the engine is about to close', async () => {
  let used: Socket | undefined;
  respond = (socket) => {
    used = socket;
    socket.write(http(item).replace('\r\n', '\r\nConnection: close\r\n'));
  };
  await get();
  const first = used;
  respond = (socket) => {
    used = socket;
    socket.write(http(item));
  };
  expect((await get()).$metadata.attempts).toBe(1);
  expect(used).not.toBe(first);
});

it('takes nothing that the engine says unasked for an answer', async () => {
  let used: Socket | undefined;
  respond = (socket) => {
    used = socket;
    socket.write(http(item));
  };
  await get();
  const closed = new Promise((resolve) => used?.once('close', resolve));
  used?.write(http({ Item: { pk: { S: 'stray' } } }).slice(0, 20));
  await closed;
  expect((await get()).Item).toEqual(item.Item);
});

it('ends a call that takes longer than the SDK waits, and its connection', async () => {
  const sockets: Socket[] = [];
  respond = (socket) => void sockets.push(socket);
  await expect(get()).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(sockets).toHaveLength(2);
  await expect.poll(() => sockets.every(({ destroyed }) => destroyed)).toBe(true);
});

it('ends a call that is given up, and its connection', async () => {
  const abort = new AbortController();
  let connection: Socket | undefined;
  respond = (socket) => {
    connection = socket;
    abort.abort();
  };
  await expect(get(abort.signal)).rejects.toMatchObject({ name: 'AbortError' });
  await expect.poll(() => connection?.destroyed).toBe(true);
  expect(requests).toBe(1);
});

it('leaves to the wire what no policy allows', async () => {
  respond = (socket) => socket.write(http(item));
  await expect(
    stranger.send(new GetItemCommand({ TableName: 'table', Key: { pk: { S: '1' } } })),
  ).rejects.toMatchObject({ name: 'AccessDeniedException', message: 'from the wire' });
  expect(throughWire).toEqual(['DynamoDB_20120810.GetItem']);
  expect(requests).toBe(0);
});
