import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { agentDefinition } from '#contract/agent.ts';
import type { BatchResource } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import { publishAgent, updateAgent } from '#domain/agents/agents.ts';
import { waitForBatchEnd } from '#support/batches.ts';
import type { ApiResponse } from '#support/client.ts';
import type { ProxiedCall } from '#support/dynamo-proxy.ts';
import { functionIds, functionNames, statusOfDeath } from '#support/entry-points.ts';
import {
  isReplayed,
  itemOf,
  type KeyedRequest,
  keyedRequests,
  postWithKey,
} from '#support/keyed-requests.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { useProxiedService } from '#support/proxied-service.ts';
import { operator } from '#support/service.ts';
import { contentsOf, historyOf, interrupted, rejectedWhileResponding } from '#support/turns.ts';

const functionsAtOnce = 3;

const { model, callFor, service, proxy, table } = await useProxiedService({
  // The leases are so long that only a test ends them.
  variables: {
    LEASE_SECONDS: '240',
  },
  maxConcurrency: functionsAtOnce,
  recordCalls: true,
  faults: { transactionConflicts: true },
});

const open = (): Promise<OpenTenant> => openTenant(service, { model: 'openai:test', titles: false });
const newKey = (): string => crypto.randomUUID();

/** The prefix of the function's logical id, and a part of its name. */
const functionOf: Readonly<Record<string, readonly [id: string, name: string]>> = {
  'POST /chats': [functionIds['create-chat'], functionNames['create-chat']],
  'POST /batches': ['CreateBatch', 'CreateBatch'],
  'POST /chats/{chat_id}/messages': [functionIds['send-message'], functionNames['send-message']],
};
/**
 * The chat with its key. The key, the requests, the batch. The lease, the message with its key, the reply, the release.
 */
const leastWrites: Readonly<Record<string, number>> = {
  'POST /chats': 1,
  'POST /batches': 3,
  'POST /chats/{chat_id}/messages': 4,
};
/** A send counts its usage while it responds or afterwards, so a test that counts writes leaves it out. */
const isUsage = ({ body }: ProxiedCall): boolean => JSON.stringify(body).includes('#USAGE');
const isWriteOf = (route: string, call: ProxiedCall): boolean =>
  call.functionName.includes(functionOf[route]?.[1] ?? '?') &&
  /^(Put|Update|BatchWrite|TransactWrite)/.test(call.target) &&
  !isUsage(call);

describe.each(Object.entries(keyedRequests))('%s with a key', (route, requestOf) => {
  const status = route === 'POST /batches' ? 202 : 200;
  let tenant: OpenTenant;
  let request: KeyedRequest;
  beforeEach(async () => {
    tenant = await open();
    request = await requestOf(tenant);
  });

  it('is done once, with one answer; another request is refused; what is kept has no texts and expires', async () => {
    const key = newKey().padEnd(255, '~ !');
    const first = await postWithKey(tenant, request, key);
    expect([first.status, isReplayed(first)]).toEqual([status, false]);
    const body = Object.fromEntries(Object.entries(request.body).reverse());
    const repeated = await postWithKey(tenant, { ...request, body }, key);
    expect([repeated.status, repeated.body, isReplayed(repeated)]).toEqual([status, first.body, true]);

    const others = await Promise.all(Object.values(keyedRequests).map((another) => another(tenant)));
    const changes = { external_user_id: 'bob', webhook: { url: 'https://example.com/' } };
    others.push({ ...request, body: { ...request.body, ...changes } });
    for (const other of others.filter(({ path, body: its }) => path !== request.path || 'webhook' in its))
      expect(summaryOf(await postWithKey(tenant, other, key))).toMatch(
        /^400\/10006 Idempotency-Key was used for another request/,
      );
    expect(await request.timesDone()).toBe(1);

    const stranger = await open();
    const theirs = await requestOf(stranger);
    expect(isReplayed(await postWithKey(stranger, theirs, key))).toBe(false);
    expect([await request.timesDone(), await theirs.timesDone()]).toEqual([1, 1]);

    const item = await table.read(itemOf(tenant, key));
    // A hash may contain any letters, but no blank, `@` or `~`.
    expect(JSON.stringify(item)).not.toMatch(/Only once|Only one|ada@|~/);
    expect(Math.abs(Number(item?.ttl) - Date.now() / 1000 - 86_400)).toBeLessThan(60);
    await table.change(itemOf(tenant, key), { ttl: Math.floor(Date.now() / 1000) });
    const afterExpiry = [await postWithKey(tenant, request, key), await postWithKey(tenant, request, key)];
    expect(afterExpiry.map(isReplayed)).toEqual([false, true]);
    expect(await request.timesDone()).toBe(2);
  });

  it('is done once when it is made twenty times at once', async () => {
    const key = newKey();
    // All functions read the key before one of them stores it, so each finds an unused key.
    const allRead = Promise.withResolvers<void>();
    let checks = 0;
    proxy.handle = async (call, pass) => {
      const response = await pass();
      if (!/Get/.test(call.target) || !JSON.stringify(call.body).includes('#REQUEST#')) return response;
      checks += 1;
      if (checks === functionsAtOnce) allRead.resolve();
      await allRead.promise;
      return response;
    };
    const responses = await Promise.all(Array.from({ length: 20 }, () => postWithKey(tenant, request, key)));
    const done = responses.filter((response) => response.status === status);
    expect(new Set(done.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(done.filter((response) => !isReplayed(response)).length).toBe(1);
    // A request is rejected only if its chat has a reply in progress.
    for (const response of responses.filter((one) => !done.includes(one)))
      expect(response).toMatchObject(rejectedWhileResponding);
    if (!request.path.endsWith('messages')) expect(done.length).toBe(20);
    expect(await request.timesDone()).toBe(1);
  });

  it('is done once when its function is killed behind any of its writes', async () => {
    for (let write = 1; ; write += 1) {
      const killedRequest = await requestOf(tenant);
      const before = await killedRequest.timesDone();
      const key = newKey();
      let writes = 0;
      proxy.handle = async (call, pass) => {
        const response = await pass();
        if (!isWriteOf(route, call)) return response;
        writes += 1;
        if (writes !== write) return response;
        expect(service.run.killWorkers(functionOf[route]?.[0] ?? '')).toBeGreaterThan(0);
        return undefined;
      };
      const killed = await postWithKey(tenant, killedRequest, key);
      proxy.handle = (_, pass) => pass();
      if (writes < write) {
        expect(killed.status).toBe(status);
        expect(writes).toBeGreaterThanOrEqual(leastWrites[route] ?? 0);
        break;
      }
      expect(killed.status).toBe(route === 'POST /batches' ? 500 : statusOfDeath);
      let response = await postWithKey(tenant, killedRequest, key);
      if (response.status === 400) {
        expect(response).toMatchObject(rejectedWhileResponding);
        await table.endLease({ ...tenant, chatId: Number(killedRequest.path.split('/')[2]) });
        response = await postWithKey(tenant, killedRequest, key);
      }
      expect(summaryOf(response)).toBe(`${status}/0 success`);
      const repeated = await postWithKey(tenant, killedRequest, key);
      expect([repeated.body, isReplayed(repeated)]).toEqual([response.body, true]);
      expect(await killedRequest.timesDone()).toBe(before + 1);
    }
  });
});

/** What the headers of a JSON response say about its reply. Each must be there. */
const replyHeadersOf = ({ headers }: ApiResponse): Record<string, string> =>
  Object.fromEntries(
    ['x-message-id', 'x-response-id', 'x-token-usage'].map((name) => [
      name,
      headers.get(name) ?? `no ${name}`,
    ]),
  );

describe('a send with a key', () => {
  const start = async (message: string) => {
    const tenant = await open();
    const chat = await tenant.createChat();
    const key = newKey();
    const body = { message, agent_id: tenant.agentId, stream: false };
    const send = () => postWithKey<string>(tenant, { path: `/chats/${chat.id}/messages`, body }, key);
    return { tenant, chat, send, history: () => historyOf(tenant.client, chat.id) };
  };

  it('that is being answered says so, and then has the answer', async () => {
    const { send, history } = await start('Wait for me');
    const called = callFor('Wait for me');
    const first = send();
    const call = await called;
    expect(await send()).toMatchObject(rejectedWhileResponding);
    replyWith(call, 'Here I am');
    expect((await first).body.data).toBe('Here I am');
    const repeated = await send();
    expect([repeated.body.data, isReplayed(repeated)]).toEqual(['Here I am', true]);
    const messages = await history();
    expect(contentsOf(messages)).toEqual(['Wait for me', 'Here I am']);
    expect(replyHeadersOf(await first)['x-message-id']).toBe(String(messages[1]?.id));
    expect(replyHeadersOf(repeated)).toEqual(replyHeadersOf(await first));
  });

  it('has its answer also when its agent got a form of its own since then', async () => {
    const { tenant, chat } = await start('In a form');
    const { workspaceId, agentId } = tenant;
    const json_schema = { name: 'count', schema: { type: 'object' } };
    const response_format = { type: 'json_schema', json_schema };
    const body = { message: 'In a form', agent_id: agentId, stream: false, response_format };
    const key = newKey();
    const send = () => postWithKey<string>(tenant, { path: `/chats/${chat.id}/messages`, body }, key);
    const called = callFor('In a form');
    const first = send();
    replyWith(await called, '{"a":1}');
    const { data } = (await first).body;
    expect(data).toBe('{"a":1}');
    const agent = await operator().agents.get(workspaceId, agentId);
    const definition = agentDefinition.parse({ ...agent?.definition, output_schema: { type: 'object' } });
    await updateAgent(operator(), { agentId, definition });
    await publishAgent(operator(), agentId);
    const other = await tenant.client.post(`/chats/${chat.id}/messages`, body);
    expect(other.status).toBe(400);
    const repeated = await send();
    expect([repeated.status, repeated.body.data, isReplayed(repeated)]).toEqual([200, data, true]);
  });

  it('that has failed has failed for good', async () => {
    const { send, history } = await start('Fail');
    const calls = model.calls.length;
    const called = callFor('Fail');
    const first = send();
    (await called).fail(400);
    expect([(await first).status, isReplayed(await first)]).toEqual([500, false]);
    const repeated = await send();
    expect([repeated.status, repeated.body.error_code, isReplayed(repeated)]).toEqual([500, 10005, true]);
    const messages = await history();
    expect([messages.length, model.calls.length - calls]).toEqual([2, 1]);
    expect(replyHeadersOf(await first)['x-message-id']).toBe(String(messages[1]?.id));
    expect(replyHeadersOf(repeated)).toEqual(replyHeadersOf(await first));
  });

  /** A send whose function has died while the model was called, and whose lease has not ended. */
  const die = async (message: string, before: string[] = []) => {
    const started = await start(message);
    for (const previous of before) dataOf(await started.tenant.send(started.chat, { message: previous }));
    const called = callFor(message);
    const first = started.send();
    const { request } = await called;
    // The model is called concurrently with storing the message.
    await expect.poll(async () => contentsOf(await started.history())).toContain(message);
    service.run.killWorkers(functionIds['send-message']);
    expect((await first).status).toBe(statusOfDeath);
    const endLease = () => table.endLease({ ...started.tenant, chatId: started.chat.id });
    return { ...started, request, endLease };
  };

  it('whose function has died goes on with the same turn: what the model is told is the same', async () => {
    const { send, history, request, endLease } = await die('Go on', ['Before']);
    expect(await send()).toMatchObject(rejectedWhileResponding);
    await endLease();
    const calledTwice = callFor('Go on');
    const second = send();
    const call = await calledTwice;
    expect(call.request.messages).toEqual(request.messages);
    expect(await send()).toMatchObject(rejectedWhileResponding);
    replyWith(call, 'Gone on');
    expect([(await second).body.data, isReplayed(await second)]).toEqual(['Gone on', false]);
    expect(contentsOf(await history())).toEqual(['Before', 'Hello', 'Go on', 'Gone on']);
    expect(isReplayed(await send())).toBe(true);
  });

  it('whose function has died has failed when another message came before it was made again', async () => {
    const { tenant, chat, send, history, endLease } = await die('Die');
    await endLease();
    dataOf(await tenant.send(chat, { message: 'Another' }));
    const repeated = await send();
    expect([repeated.status, isReplayed(repeated)]).toEqual([500, true]);
    const messages = await history();
    expect(contentsOf(messages)).toEqual(['Die', '', 'Another', 'Hello']);
    expect(messages[1]?.meta.error).toEqual(interrupted);
  });
});

it('answers a batch and a chat as they were made, whatever has become of them', async () => {
  const tenant = await open();
  const [batchRequest, chatRequest] = await Promise.all(
    ['POST /batches', 'POST /chats'].map((route) => keyedRequests[route]?.(tenant)),
  );
  if (batchRequest === undefined || chatRequest === undefined) throw new Error('No such route');
  const batch = await postWithKey<BatchResource>(tenant, batchRequest, 'batch');
  const chat = await postWithKey<ChatResource>(tenant, chatRequest, 'chat');
  expect(await waitForBatchEnd(tenant.client, batch.body.data.id)).toMatchObject({ completed_requests: 1 });
  dataOf(await tenant.send(chat.body.data, { message: 'Hello' }));
  expect((await postWithKey(tenant, batchRequest, 'batch')).body).toEqual(batch.body);
  expect((await postWithKey(tenant, chatRequest, 'chat')).body).toEqual(chat.body);
});

it('does each request once whose answers from the table get lost', async () => {
  const tenant = await open();
  for (const [route, requestOf] of Object.entries(keyedRequests)) {
    const request = await requestOf(tenant);
    const before = await request.timesDone();
    const lost = new Set<string>();
    proxy.handle = async (call, pass) => {
      const response = await pass();
      const write = JSON.stringify([call.target, call.body.UpdateExpression, call.body.Item]);
      if (!isWriteOf(route, call) || lost.has(write)) return response;
      lost.add(write);
      return undefined;
    };
    const key = newKey();
    const first = await postWithKey(tenant, request, key);
    proxy.handle = (_, pass) => pass();
    expect([first.status < 300, isReplayed(first)]).toEqual([true, false]);
    expect(lost.size).toBeGreaterThanOrEqual(leastWrites[route] ?? 0);
    expect((await postWithKey(tenant, request, key)).body).toEqual(first.body);
    expect(await request.timesDone()).toBe(before + 1);
  }
});

it('refuses two keys in one request, of which nobody could say which is meant', async () => {
  const tenant = await open();
  for (const requestOf of Object.values(keyedRequests)) {
    const { path, body, timesDone } = await requestOf(tenant);
    const headers = {
      'x-api-key': tenant.apiKey,
      'Content-Type': 'application/json',
      // Two header lines; `fetch` would join them.
      'Idempotency-Key': [newKey(), newKey()],
    };
    const sending = request(service.baseUrl + path, { method: 'POST', headers }).end(JSON.stringify(body));
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    expect([response.statusCode, await json(response)]).toEqual([
      400,
      { data: null, message: 'idempotency-key is given more than once', error_code: 10_006 },
    ]);
    expect(await timesDone()).toBe(0);
  }
});

it('refuses a key that is none, and one with a stream', async () => {
  const tenant = await open();
  const requests = await Promise.all(Object.values(keyedRequests).map((requestOf) => requestOf(tenant)));
  const rejections: Promise<ApiResponse>[] = requests.flatMap((request) =>
    ['', 'x'.repeat(256), 'caf\u00e9'].map((key) => postWithKey(tenant, request, key)),
  );
  for (const rejection of rejections)
    expect(summaryOf(await rejection)).toBe(
      '400/10006 idempotency-key must be 1 to 255 printable ASCII characters',
    );
  const [send] = requests.slice(-1);
  if (send === undefined) throw new Error('No such route');
  for (const stream of [true, undefined])
    expect(
      summaryOf(await postWithKey(tenant, { ...send, body: { ...send.body, stream } }, newKey())),
    ).toMatch(/^400\/10006 Idempotency-Key needs "stream": false/);
  expect(await Promise.all(requests.map(({ timesDone }) => timesDone()))).toEqual([0, 0, 0]);
});

it('costs no round trip and few units with a key', async () => {
  const tenant = await open();
  const expected: Readonly<Record<string, { calls: string[]; units: number }>> = {
    // Without a key, the record of the gateway's request takes the place of the key's.
    'POST /chats': { calls: [], units: 0 },
    // The batch's id is stored before the batch is created.
    'POST /batches': { calls: ['PutItem'], units: 1 },
    // A transaction of two items replaces a put of one.
    'POST /chats/{chat_id}/messages': { calls: [], units: 3 },
  };
  for (const [route, requestOf] of Object.entries(keyedRequests)) {
    const costOf = async (key: string | null) => {
      const request = await requestOf(tenant);
      const bodies: string[] = [];
      proxy.handle = async (call, pass) => {
        bodies.push(JSON.stringify(call.body));
        return isUsage(call) ? { status: 200, body: '{}' } : await pass();
      };
      const recorded = service.run.dynamoCalls().length;
      if (key === null) dataOf(await tenant.client.post(request.path, request.body));
      else dataOf(await postWithKey(tenant, request, key));
      const own = service.run
        .dynamoCalls()
        .slice(recorded)
        .filter(({ functionName }) => functionName?.includes(functionOf[route]?.[1] ?? '?'));
      expect(bodies.some((body) => body.includes('#REQUEST#'))).toBe(key !== null || route === 'POST /chats');
      return {
        // With a key, the put of a message is a transaction.
        calls: own.map(({ target }) => target.replace(/^(Put|TransactWrite)Items?$/, 'Put')).sort(),
        units: own.reduce((sum, { consumed }) => sum + consumed.writeUnits, 0),
      };
    };
    // The first request reads the agent's version as well.
    await costOf(null);
    const without = await costOf(null);
    const withKey = await costOf(newKey());
    console.log(`${route}: ${JSON.stringify({ without, withKey })}`);
    const more = expected[route];
    expect(withKey.units - without.units).toBe(more?.units);
    expect(withKey.calls.length - without.calls.length).toBe(more?.calls.length);
  }
});
