import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { endOfStream } from '#contract/events.ts';
import { variables } from '#runtime/environment/variables.ts';
import { type LocalServer, listenLocally } from '#support/listen-locally.ts';
import { largePools } from '#support/upload-endpoint.ts';

let secrets: LocalServer;
let worker: Worker;
let port: number;
let caller: string;

beforeAll(async () => {
  secrets = await listenLocally(
    createServer((_request, response) => response.end(JSON.stringify({ SecretString: 'secret' }))),
  );
  const free = await listenLocally(createServer());
  port = free.port;
  await free.close();
  worker = new Worker(new URL('../support/timed-server.ts', import.meta.url), {
    env: {
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'none',
      AWS_SECRET_ACCESS_KEY: 'none',
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
      [variables.callerSecret]: 'arn:secret',
      [variables.authorizerCacheSeconds]: '60',
      [variables.httpEndpoint]: `127.0.0.1:${port}`,
      [variables.logLevel]: 'SILENT',
      [variables.metricsNamespace]: 'test',
      [variables.dataTable]: 'none',
      [variables.poolSizes]: JSON.stringify(largePools),
    },
  });
  [caller] = (await once(worker, 'message')) as [string];
});
afterAll(async () => {
  await worker.terminate();
  await secrets.close();
});

async function advance(milliseconds: number): Promise<void> {
  const advanced = once(worker, 'message');
  worker.postMessage({ advance: milliseconds });
  await advanced;
}

async function send(method: string, path: string): Promise<IncomingMessage> {
  const outgoing = request({ port, method, path, headers: { 'x-signed-caller': caller }, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response.setEncoding('utf8');
}

it('a web function gives a resumed stream 890 s, and ends it cleanly', async () => {
  const response = await send('GET', '/chats/1/stream?response_id=r');
  expect(response.statusCode).toBe(200);
  let received = '';
  const lastBeforeEnd = Promise.withResolvers<void>();
  response.on('data', (text: string) => {
    received += text;
    if (received.includes('data: 889\n')) lastBeforeEnd.resolve();
  });
  const ended = once(response, 'end');
  await advance(889_999);
  await lastBeforeEnd.promise;
  expect(response.complete).toBe(false);
  await advance(2000);
  await ended;
  expect(response.complete).toBe(true);
  expect(received).not.toContain('data: 891\n');
  expect(received).not.toContain(endOfStream);
});

it('and the model of a send what is left of 300 s after two seconds of its request', async () => {
  const response = await send('POST', '/chats/1/messages');
  expect(Number((await response.toArray()).join(''))).toBe(298_000);
});
