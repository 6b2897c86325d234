import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RecordedCall } from '#local/run-options.ts';
import type { Listening } from '#local/wire/listen-on-loopback.ts';
import { recordCalls } from '#local/wire/record-calls.ts';

const recorded: RecordedCall[] = [];
const seen: { host: string | undefined; body: string }[] = [];
const service = createServer(async (request, response) => {
  seen.push({ host: request.headers.host, body: await text(request) });
  response.writeHead(request.method === 'DELETE' ? 404 : 200, { 'x-answer': 'yes' }).end('answered');
});
let wire: Listening;
beforeAll(async () => {
  await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening));
  const endpoint = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  wire = await recordCalls('s3', endpoint, (call) => recorded.push(call));
});
afterAll(async () => {
  await wire.close();
  service.closeAllConnections();
  service.close();
});

async function send(method: string, path: string, headers: Record<string, string> = {}, body = '') {
  const sent = httpRequest(wire.endpoint + path, { method, headers });
  const responded = new Promise<{ status: number | undefined; recorded: string }>((resolve, reject) => {
    sent.on('response', (response) =>
      text(response).then((recorded) => resolve({ status: response.statusCode, recorded }), reject),
    );
    sent.on('error', reject);
  });
  sent.end(body);
  return responded;
}

it.each([
  ['PUT', '/bucket/folder/key', {}, 'PUT object'],
  ['PUT', '/bucket/key?tagging', {}, 'PUT object?tagging'],
  ['POST', '/bucket/key?uploads', {}, 'POST object?uploads'],
  ['GET', '/bucket?list-type=2', {}, 'GET bucket?list-type'],
  ['POST', '/2015-03-31/functions/prepare/invocations', {}, 'Invoke'],
  ['POST', '/', { 'x-amz-target': 'AmazonSQS.SendMessageBatch' }, 'SendMessageBatch'],
])('tells %s %s %o as %s', async (method, path, headers, operation) => {
  recorded.length = 0;
  await send(method, path, headers);
  expect(recorded.map((call) => call.operation)).toEqual([operation]);
});

it('passes all as it is, and counts its bytes', async () => {
  recorded.length = 0;
  // The signature covers the Host header, so the service must receive the signed one.
  const headers = { host: 'localhost:4566', 'x-amz-security-token': 'a-function' };
  expect(await send('PUT', '/bucket/key', headers, 'ä'.repeat(1000))).toEqual({
    status: 200,
    recorded: 'answered',
  });
  expect(seen.at(-1)).toEqual({ host: 'localhost:4566', body: 'ä'.repeat(1000) });
  expect(recorded).toEqual([
    {
      service: 's3',
      operation: 'PUT object',
      name: 'a-function',
      status: 200,
      bytes: { sent: 2000, received: 8 },
      milliseconds: expect.any(Number),
    },
  ]);
});

it('tells refusals too, and cuts the connection of a caller whose service is gone', async () => {
  recorded.length = 0;
  expect(await send('DELETE', '/bucket/key')).toEqual({ status: 404, recorded: 'answered' });
  expect(recorded[0]?.status).toBe(404);
  const nowhere = await recordCalls('s3', 'http://127.0.0.1:1', () => {});
  await expect(fetch(nowhere.endpoint)).rejects.toThrow();
  await nowhere.close();
});
