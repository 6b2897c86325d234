import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import { waitForBatchEnd } from '#support/batches.ts';
import type { ApiResponse } from '#support/client.ts';
import type { ProxiedCall } from '#support/dynamo-proxy.ts';
import { functionNames, webFunctions } from '#support/entry-points.ts';
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
import { contentsOf, historyOf, rejectedWhileResponding } from '#support/turns.ts';

/** When the gateway sends each request once more. */
let repeated: 'meanwhile' | 'afterwards' | undefined;
const { model, callFor, service, proxy, table } = await useProxiedService({
  maxConcurrency: 3,
  recordCalls: true,
  faults: { transactionConflicts: true, repeatedRequest: () => repeated },
});

const open = (): Promise<OpenTenant> => openTenant(service, { model: 'openai:test', titles: false });
const newKey = (): string => crypto.randomUUID();

/** A part of the function's name. */
const functionOf: Readonly<Record<string, string>> = {
  'POST /chats': functionNames['create-chat'],
  'POST /batches': 'CreateBatch',
  'POST /chats/{chat_id}/messages': functionNames['send-message'],
};

/** A send counts its usage while it responds or afterwards, so a test that counts writes leaves it out. */
const isUsage = ({ body }: ProxiedCall): boolean => JSON.stringify(body).includes('#USAGE');

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
        .filter(({ functionName }) => functionName?.includes(functionOf[route] ?? '?'));
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

// No gateway repeats the event of a Lambda function here.
describe.runIf(webFunctions === 'all')('a request that the gateway repeats', () => {
  const repeating = async (when: typeof repeated) => {
    const { client, agentId, createChat } = await open();
    const { id: chatId } = await createChat();
    model.calls.length = 0;
    repeated = when;
    onTestFinished(() => {
      repeated = undefined;
    });
    return { client, agentId, chatId };
  };

  it.each(['meanwhile', 'afterwards'] as const)('makes one chat, when it comes %s', async (when) => {
    const { client, agentId, chatId } = await repeating(when);
    const fields = { name: 'A chat', agent_id: agentId };
    const { body } = await client.post<ChatResource>('/chats', fields);
    const key = { headers: { 'Idempotency-Key': 'one' } };
    const keyed = await client.post<ChatResource>('/chats', fields, key);
    const list = await client.get<ChatResource[]>('/chats');
    // The ids of the repeated requests are not used.
    expect(list.body.data.map(({ id }) => id)).toEqual([keyed.body.data.id, body.data.id, chatId]);
  });

  it('gets the stored reply, as JSON and as a stream, and makes no second turn', async () => {
    const { client, agentId, chatId } = await repeating('afterwards');
    const send = { message: 'Hi', agent_id: agentId };
    const path = `/chats/${chatId}/messages`;
    const reply = await client.post<string>(path, { ...send, stream: false });
    expect([reply.status, reply.body.data]).toEqual([200, 'Hello']);
    const events = await (await client.stream(chatId, send)).all();
    const completed = { final_text: 'Hello', message_id: expect.any(Number), usage: { total_calls: 1 } };
    expect(events).toMatchObject([
      { type: 'response.created' },
      { type: 'response.output_text.delta' },
      { type: 'response.output_text.completed', ...completed },
      '[DONE]',
    ]);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['Hi', 'Hello', 'Hi', 'Hello']);
    expect(model.calls).toHaveLength(2);
  });
});
