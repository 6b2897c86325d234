import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
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

async function send(method: string, path: string): Promise<IncomingMessage> {
  const outgoing = request({ port, method, path, headers: { 'x-signed-caller': caller }, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response.setEncoding('utf8');
}

it('a web function gives the model of a send what is left of 300 s after two seconds of its request', async () => {
  const response = await send('POST', '/chats/1/messages');
  expect(Number((await response.toArray()).join(''))).toBe(298_000);
});
