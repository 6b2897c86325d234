import { Readable } from 'node:stream';
import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest, HttpResponse } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  itemClientSettings,
  optimizedClient,
  SigningDigest,
  unusedMiddleware,
} from '#adapters/dynamo/item-client/item-client.ts';

it('leaves out what the SDK does around calls without use here, and keeps the rest', () => {
  const namesOf = (client: DynamoDBClient) =>
    client.middlewareStack.identify().map((line) => line.split(/ - | \(a\.k\.a/)[0] ?? '');
  const client = new DynamoDBClient({ region: 'us-east-1' });
  const before = namesOf(client);
  // If an update of the SDK renamed a middleware, it would silently stay in the stack.
  expect(before).toEqual(expect.arrayContaining(unusedMiddleware));
  expect(namesOf(optimizedClient(client))).toEqual(before.filter((name) => !unusedMiddleware.includes(name)));
});

it('signs as the SDK does, with the credentials of each call', async () => {
  let sent: { headers: Record<string, string>; body: string } | undefined;
  let accessKeyId = 'first';
  const settings = {
    region: 'us-east-1',
    endpoint: 'https://table.example',
    credentials: async () => ({ accessKeyId, secretAccessKey: 'secret', expiration: new Date(0) }),
    requestHandler: {
      handle: async (request: typeof sent) => {
        sent = structuredClone({
          headers: request?.headers ?? {},
          body: Buffer.from(request?.body ?? '').toString(),
        });
        throw new Error('sent');
      },
    },
    maxAttempts: 1,
  };
  const client = optimizedClient(new DynamoDBClient({ ...settings, ...itemClientSettings }));
  const plain = new DynamoDBClient(settings);
  const put = new PutItemCommand({ TableName: 'table', Item: { pk: { S: 'ü' }, count: { N: '1' } } });
  for (accessKeyId of ['first', 'second']) {
    await expect(plain.send(put)).rejects.toThrow('sent');
    const expected = sent;
    await expect(client.send(put)).rejects.toThrow('sent');
    expect(JSON.parse(sent?.body ?? '')).toEqual(JSON.parse(expected?.body ?? ''));
    expect(sent?.headers.authorization).toContain(`Credential=${accessKeyId}/`);
    for (const name of ['x-amz-target', 'content-type', 'host'])
      expect(sent?.headers[name], name).toBe(expected?.headers[name]);
  }
});

it('fails if a connection closes within a response, also without an error', async () => {
  const body = new Readable({ read() {} });
  body.push('{"Item":');
  const client = optimizedClient(
    new DynamoDBClient({
      ...itemClientSettings,
      region: 'us-east-1',
      credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
      requestHandler: {
        handle: async () => {
          setImmediate(() => body.destroy());
          return { response: new HttpResponse({ statusCode: 200, body }) };
        },
      },
      maxAttempts: 1,
    }),
  );
  const get = new GetItemCommand({ TableName: 'table', Key: { pk: { S: 'a' } } });
  await expect(client.send(get)).rejects.toThrow('The connection was closed within a response');
});

it('gives the signatures of the SDK, whatever is signed, with whose credentials and when', async () => {
  const given = fc.record({
    body: fc.string({ unit: 'grapheme' }),
    secretAccessKey: fc.constantFrom('one secret', 'another', 'ünd noch eins'),
    accessKeyId: fc.constantFrom('AKIA1', 'AKIA2'),
    signingDate: fc.date({ min: new Date('2026-01-01'), max: new Date('2026-01-03'), noInvalidDate: true }),
  });
  await fc.assert(
    fc.asyncProperty(given, async ({ body, signingDate, ...credentials }) => {
      const signed = async (sha256: typeof Sha256 | typeof SigningDigest) => {
        const signer = new SignatureV4({ service: 'dynamodb', region: 'eu-west-1', credentials, sha256 });
        const headers = { host: 'table.example', 'content-type': 'application/x-amz-json-1.0' };
        const request = new HttpRequest({
          method: 'POST',
          hostname: 'table.example',
          path: '/',
          headers,
          body,
        });
        return (await signer.sign(request, { signingDate })).headers;
      };
      expect(await signed(SigningDigest)).toEqual(await signed(Sha256));
    }),
  );
});
