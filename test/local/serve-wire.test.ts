import { createServer, type RequestListener } from 'node:http';
import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { expect, it, onTestFinished } from 'vitest';
import { serveWire } from '#local/dynamodb/serve-wire.ts';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { listenLocally } from '#support/listen-locally.ts';

/** The wire in front of a scripted emulator, and the operators' writes that it has reported. */
async function startWire(emulator: RequestListener) {
  const { url, close } = await listenLocally(createServer(emulator));
  onTestFinished(close);
  const writes: number[] = [];
  const wire = await serveWire({
    emulator: url,
    shapes: new Map(),
    faults: {},
    record: undefined,
    onOperatorWrite: () => writes.push(writes.length),
    isFunction: (name) => name === 'a-function',
    access: {
      rejectionOf: () => undefined,
      rules: {
        accountId: '123456789012',
        region: 'us-east-1',
        operator: operatorCredentials,
        sessions: new Map(),
        resourcePolicies: new Map(),
        encryptionKeys: new Map(),
      },
    },
  });
  onTestFinished(wire.close);
  const clientOf = (sessionToken?: string) => {
    const client = new DynamoDBClient({
      endpoint: wire.endpoint,
      region: 'us-east-1',
      credentials: { ...operatorCredentials, ...(sessionToken !== undefined && { sessionToken }) },
      maxAttempts: 1,
    });
    onTestFinished(() => client.destroy());
    return client;
  };
  return { writes, operator: clientOf(), lambda: clientOf('a-function') };
}

const Key = { pk: { S: '1' } };
const put = new PutItemCommand({ TableName: 'table', Item: Key });
const get = new GetItemCommand({ TableName: 'table', Key });

it('tells of each write of an operator, and of nobody else’s', async () => {
  const { writes, operator, lambda } = await startWire((_request, response) => response.end('{}'));
  await operator.send(get);
  await lambda.send(put);
  expect(writes).toHaveLength(0);
  await operator.send(put);
  expect(writes).toHaveLength(1);
});

it('tells of a write whose answer is lost: the engine may have written', async () => {
  const { writes, operator } = await startWire((request) => request.socket.destroy());
  await expect(operator.send(put)).rejects.toMatchObject({ name: 'InternalServerError' });
  expect(writes).toHaveLength(1);
});

it('passes on an answer that comes in chunks', async () => {
  const { operator } = await startWire((_request, response) => {
    response.write('{"Item":');
    response.end('{"pk":{"S":"1"}}}');
  });
  expect((await operator.send(get)).Item).toEqual(Key);
});
