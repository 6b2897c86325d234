import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { startOn } from '#support/command.ts';
import { type Listener, listenersOf } from '#support/listeners.ts';

const foreign = 'https://elsewhere.example';
const allowed = 'https://app.example.com';

const data = await temporaryFolder('pages-');
const { command, connection } = await startOn(data, ['--set', `corsOrigins=["${allowed}"]`]);
closeAfterTests({ close: command.kill });
const connectionText = await readFile(join(data, 'connection.json'), 'utf8');
const { port: mainPort, origin } = new URL(connection.base_url);

/** With the given `Host`, which `fetch` does not send. */
async function exchange(
  { host, port }: Listener,
  { method = 'GET', path = '/', headers = {} }: { method?: string; path?: string; headers?: object },
) {
  const sent = request({ host, port, method, path, headers: { ...headers } }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return {
    status: response.statusCode,
    allowedOrigin: response.headers['access-control-allow-origin'],
    body: await text(response),
  };
}

const main: Listener = { host: '127.0.0.1', port: Number(mainPort) };
const list = `${new URL(connection.base_url).pathname}/chats/published-agents`;
const key = { 'x-api-key': connection.api_key };

/** After a request, so that the environment of its web function listens too. */
const listeners = async (): Promise<Listener[]> => {
  expect((await exchange(main, { path: list, headers: key })).status).toBe(200);
  return await listenersOf(command.child.pid ?? 0);
};

it('rejects an Origin and a foreign Host at every port on 127.0.0.1', async () => {
  const known = (await listeners()).filter(({ host }) => host === '127.0.0.1');
  expect(known.length).toBeGreaterThanOrEqual(9);
  for (const listener of known)
    for (const headers of [
      { Origin: foreign },
      { Origin: 'null' },
      { Origin: foreign, 'Access-Control-Request-Method': 'POST' },
      { Host: `elsewhere.example:${listener.port}` },
    ])
      for (const method of ['GET', 'POST', 'OPTIONS'])
        for (const path of ['/', list]) {
          const { status, allowedOrigin } = await exchange(listener, { method, path, headers });
          expect({ listener, headers, method, path, status, allowedOrigin }).toMatchObject({
            status: 403,
            allowedOrigin: undefined,
          });
        }
});

it('has listeners elsewhere, the DynamoDB emulator and the web functions, whose addresses no file names', async () => {
  const elsewhere = (await listeners()).filter(({ host }) => host !== '127.0.0.1');
  expect(elsewhere.length).toBeGreaterThanOrEqual(2);
  const bodies = await Promise.all(elsewhere.map(async (listener) => (await exchange(listener, {})).body));
  expect(bodies.filter((body) => body.includes('healthy'))).toHaveLength(1);
  // A web function rejects a request without a signed caller.
  expect(bodies.filter((body) => body === '')).toHaveLength(elsewhere.length - 1);
  for (const { host } of elsewhere) {
    expect(host).toMatch(/^127\./);
    expect(connectionText).not.toContain(host);
  }
});

it('serves the main port to its own page, to programs, and to the origins of corsOrigins', async () => {
  const call = (headers: object) => exchange(main, { path: list, headers: { ...key, ...headers } });
  expect(await call({ Origin: origin })).toMatchObject({ status: 200 });
  expect(await call({})).toMatchObject({ status: 200 });
  expect(await call({ Origin: allowed })).toMatchObject({ status: 200, allowedOrigin: allowed });
  const preflight = { Origin: allowed, 'Access-Control-Request-Method': 'GET' };
  expect(await exchange(main, { method: 'OPTIONS', path: list, headers: preflight })).toMatchObject({
    status: 204,
    allowedOrigin: allowed,
  });
});
