import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';
import { ToolFailure } from '#agents/tools/agent-tool.ts';
import { requestOf } from '#agents/tools/remote/http-call.ts';
import { type HttpTool, httpTool } from '#contract/http-api.ts';
import type { ToolAuth } from '#contract/tools.ts';
import type { RemoteRequest } from '#domain/tools/remote-tools.ts';
import { credentialOf } from '#domain/tools/tool-secret.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { seededRandom } from '#support/seeded-random.ts';

async function serve(respond: RequestListener) {
  const received: IncomingMessage[] = [];
  const server = createServer(async (request, response) => {
    received.push(request);
    await Array.fromAsync(request);
    respond(request, response);
  });
  const { port, close } = await listenLocally(server);
  onTestFinished(close);
  return { received, port };
}

type CredentialOf = Parameters<typeof remoteHttp>[0]['credentialOf'];
const noTokens = () => expect.unreachable();
const canary = 'canary-secret-1';
const bearer: ToolAuth = { type: 'bearer', secret: 'crm' };

const secrets = { valueFor: async () => ({ value: canary, forget: () => undefined }) };
const ofSecrets: CredentialOf = (auth, target) => credentialOf(secrets, auth, target, noTokens);

function open(port: number, { allow = true, credentials = ofSecrets } = {}) {
  const http = remoteHttp({
    rules: {
      allow: allow ? [{ host: '127.0.0.1', port }] : [],
      denied: [],
      resolve: async () => ['127.0.0.1'],
    },
    credentialOf: credentials,
    depth: () => 0,
  });
  const pool = http.openPool();
  onTestFinished(() => pool.close());
  const request = (changes: Partial<RemoteRequest> = {}): RemoteRequest => ({
    ...{ workspaceId: 'ws', url: new URL(`http://127.0.0.1:${port}/mcp`), method: 'POST', headers: {} },
    ...{ body: Buffer.from('{}'), auth: bearer, timeout: 2000, maxBytes: 10_000, pool },
    signal: new AbortController().signal,
    ...changes,
  });
  const send = (changes?: Partial<RemoteRequest>) =>
    http.send(request(changes), async (_head, chunks) => Array.fromAsync(chunks));
  return { send };
}

it.each([303, 307])('does not follow a %i, also to the same server', async (status) => {
  const { received, port } = await serve((_request, response) =>
    response.writeHead(status, { Location: '/elsewhere' }).end(),
  );
  await expect(open(port).send()).rejects.toMatchObject({ kind: 'redirects' });
  await expect(open(port).send({ method: 'GET', body: undefined })).rejects.toMatchObject({
    kind: 'redirects',
  });
  expect(received.map(({ url }) => url)).toEqual(['/mcp', '/mcp']);
});

it('closes the connection of a body without an end that it does not read', async () => {
  const closed = Promise.withResolvers<void>();
  const { received, port } = await serve(({ socket }, response) => {
    if (received.length > 1) return void response.end('said');
    response.writeHead(401).write('no '.repeat(1000));
    socket.once('close', closed.resolve);
  });
  await open(port).send({ timeout: 600_000 });
  await closed.promise;
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

/** Names of properties and parameters that a model could try to choose. */
const names = ['a', 'b', 'key', 'admin', '__proto__', 'constructor', 'a&admin', 'a=1&admin', 'b]&admin[', ''];
const texts = [
  ...['', ' ', 'a b', '\r\nX-Admin: 1', '\u0000', 'x'.repeat(300)],
  ...'. .. ... / \\ //evil.example a/b ..%2f %2e%2e %252e%252e%252f % %zz é 😀 %c0%ae ＂ ‮'.split(' '),
  ...'a&admin=1 ?admin=1 #admin ;admin=1 + , @evil.example :80 http://evil.example'.split(' '),
  ...'{id} {{workspace_id}} \' " < | ~ * ('.split(' '),
];

const styles = ['form', 'deepObject', 'json'] as const;

const generator = (random: () => number) => {
  const one = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const upToTwo = <Item>(make: () => Item) => Array.from({ length: Math.floor(random() * 3) }, make);
  const text = () => Array.from({ length: 1 + Math.floor(random() * 3) }, () => one(texts)).join('');
  const value = (levels: number): unknown =>
    one<() => unknown>([
      ...[text, text, text, () => random() * 1e9, () => random() < 0.5, () => null],
      ...(levels === 0
        ? []
        : [
            () => upToTwo(() => value(levels - 1)),
            () => Object.fromEntries(upToTwo(() => [one(names), value(levels - 1)])),
          ]),
    ])();
  const serialization = (): object => ({
    ...(random() < 0.7 && { style: one(styles) }),
    ...(random() < 0.5 && { explode: random() < 0.5 }),
  });
  const tool = (): HttpTool =>
    httpTool.parse({
      ...{ name: 'op', approval: 'never', method: one(['GET', 'POST']), path: '/v/{id}.x/{id2}/end' },
      parameters: [
        {
          argument: 'id',
          name: 'id',
          in: 'path',
          explode: random() < 0.5,
          ...(random() < 0.2 && { style: 'json' }),
        },
        { argument: 'id2', name: 'id2', in: 'path' },
        { argument: 'q', name: 'q', in: 'query', ...serialization() },
        { argument: 'filter', name: 'filter[x]', in: 'query', ...serialization() },
        { argument: 'trace', name: 'X-Trace', in: 'header', explode: random() < 0.5 },
        { name: 'tenant', in: 'query', fixed: 'of {{workspace_id}}' },
      ],
      input_schema: {
        type: 'object',
        properties: {
          id: {},
          id2: {},
          q: { properties: { a: {}, b: {} } },
          filter: { allOf: [{ properties: { a: {} } }] },
          trace: {},
        },
      },
    });
  const args = (): Record<string, unknown> =>
    Object.fromEntries(
      ['id', 'id2', 'q', 'filter', 'trace', ...(random() < 0.02 ? ['tenant', 'key', 'path'] : [])].flatMap(
        (name) => (random() < 0.9 ? [[name, random() < 0.4 ? `v${random()}` : value(2)]] : []),
      ),
    );
  return { tool, args };
};

it('a request of any arguments has the path, parameters and headers of its operation', {
  timeout: 120_000,
}, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  console.log(`SEED=${seed}`);
  const generate = generator(seededRandom(seed));
  const declared = [/^(?:a|b|q|tenant|key|filter\[x\])$/, /^q\[(?:a|b|\d)\]$/, /^filter\[x\]\[(?:a|\d)\]$/];
  const { received, port } = await serve((_request, response) => response.end());
  const { send } = open(port, {
    credentials: async () => ({
      ...{ headers: { Authorization: 'Bearer canary' }, query: { key: 'canary' } },
      ...{ secrets: [], forget: () => undefined },
    }),
  });
  const url = `http://127.0.0.1:${port}`;
  let sent = 0;
  for (let run = 0; run < 10_000; run += 1) {
    const [tool, args] = [generate.tool(), generate.args()];
    const what = `SEED=${seed}, run ${run}: ${JSON.stringify({ parameters: tool.parameters, args })}`;
    let request: ReturnType<typeof requestOf>;
    try {
      request = requestOf({ base_url: `${url}/base/`, headers: { 'X-Entry': 'e' } }, tool, args, (text) =>
        text.replace('{{workspace_id}}', '1&2'),
      );
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw new Error(what, { cause: error });
      continue;
    }
    sent += 1;
    await send({ ...request, auth: undefined, timeout: 10_000 });
    const seen = received.pop();
    const [path = '', query = ''] = (seen?.url ?? '').split('?');
    expect(path, what).toMatch(/^\/base\/v\/[^/]+\.x\/[^/]+\/end$/);
    for (const segment of path.split('/').slice(3, 5))
      for (const form of [segment, decodeURIComponent(segment)])
        expect(form, what).not.toMatch(/^\.{0,2}$|[/\\]/);
    const found = [...new URLSearchParams(query)];
    for (const [name] of found)
      expect(
        declared.some((form) => form.test(name)),
        `${name} of ${what}`,
      ).toBe(true);
    expect(
      found.filter(([name]) => name === 'key' || name === 'tenant'),
      what,
    ).toEqual([
      ['tenant', 'of 1&2'],
      ['key', 'canary'],
    ]);
    const { 'x-trace': trace, ...headers } = seen?.headers ?? {};
    expect(headers, what).toEqual({
      ...{ host: `127.0.0.1:${port}`, connection: 'keep-alive', 'accept-encoding': 'gzip, deflate, br' },
      ...{ 'user-agent': 'agent-service-tools', 'x-agent-depth': '1', authorization: 'Bearer canary' },
      ...{ accept: 'application/json, */*;q=0.5', 'x-entry': 'e' },
      ...(request.method === 'POST' && { 'content-length': '0' }),
    });
    expect(seen?.headersDistinct.host, what).toHaveLength(1);
  }
  console.log(`${sent} of 10000 were sent`);
  expect(sent).toBeGreaterThan(1000);
});
