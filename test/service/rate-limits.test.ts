import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import { bytesPerToken, requestClasses } from '#contract/rate-limits.ts';
import { dialectOf } from '#contract/routes/dialect.ts';
import { type Route, routes } from '#contract/routes.ts';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { requestsOf as batchOf, runBatch } from '#support/batches.ts';
import { type ApiResponse, clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { chatWithTool } from '#support/demo-tools.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { operator, setLimits } from '#support/service.ts';
import { send } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

// Every route's function has its cold start here.

const service = await useService({
  recordCalls: true,
  // Each thread is a cold start, and knows the other threads' requests only from the table.
  maxConcurrency: 2,
});
const table = closeAfterTests(dataTableOf(service));

/** The rate limit headers of a response. */
const shownBy = ({ headers }: Pick<ApiResponse, 'headers'>) => ({
  limit: headers.get('x-ratelimit-limit'),
  remaining: headers.get('x-ratelimit-remaining'),
  reset: headers.get('x-ratelimit-reset'),
  retryAfter: headers.get('retry-after'),
});

/** Two requests an hour: a token comes back after 1,800 s, less the time that the test has taken. */
const twoAnHour = '2/h:2';
const inHalfAnHour = expect.stringMatching(/^(1800|1[67]\d\d)$/);

/** A request for every route, about what does not exist: limits come before all other checks. */
const requestsOf = ({ apiKey }: OpenTenant) =>
  Object.values<Route>(routes).map((route) => ({
    route,
    request: async (): Promise<ApiResponse> => {
      const path = route.path.replaceAll(/\{[^}]+\}/g, '1');
      const method = route.method === 'ANY' ? 'GET' : route.method;
      const response = await fetch(service.baseUrl + path, {
        method,
        headers: { 'x-api-key': apiKey, Authorization: `Bearer ${apiKey}` },
        ...(method !== 'GET' && { body: '{}' }),
      });
      return { status: response.status, headers: response.headers, body: (await response.json()) as never };
    },
  }));

it('holds every route to the limit of its class, which is the stage’s or the workspace’s own', async () => {
  const tenant = await openTenant(service, { openai: true });
  const { client } = tenant;
  const chat = await tenant.createChat();
  const firstOf = {
    reads: () => client.get('/chats'),
    writes: () => client.patch(`/chats/${chat.id}`, { name: 'B' }),
    sends: async () => {
      const stream = await client.stream(chat.id, { message: 'Hello', agent_id: tenant.agentId });
      await stream.all();
      return stream.response;
    },
    uploads: () => uploaderOf(service, tenant).file('a.txt', 'Text'),
    batches: () => client.post('/batches', { agent_id: tenant.agentId, requests: [] }),
  };
  const limitsShown = async () => {
    const shown: Record<string, unknown> = {};
    for (const rateClass of requestClasses) {
      const { limit, remaining } = shownBy(await firstOf[rateClass]());
      shown[rateClass] = `${remaining} of ${limit}`;
    }
    return shown;
  };
  await setLimits(tenant.workspaceId, {});
  expect(await limitsShown()).toEqual({
    reads: '39 of 40',
    writes: '99 of 100',
    sends: '9 of 10',
    uploads: '4 of 5',
    batches: '9 of 10',
  });
  const own = Object.fromEntries(requestClasses.map((name) => [name, twoAnHour]));
  await setLimits(tenant.workspaceId, own);
  for (const remaining of [1, 0])
    expect(await limitsShown()).toEqual(
      Object.fromEntries(requestClasses.map((name) => [name, `${remaining} of 2`])),
    );
  for (const { route, request } of requestsOf(tenant)) {
    const response = await request();
    const isOpenAi = dialectOf(route).errors === 'openai';
    const message = expect.stringMatching(
      new RegExp(`^Rate limit exceeded: ${route.rateClass} are limited to 2/h, try again in \\d+ s$`),
    );
    expect([route.name, response.status, response.body]).toEqual([
      route.name,
      429,
      isOpenAi
        ? { error: { message, type: 'requests', param: null, code: 'rate_limit_exceeded' } }
        : { data: null, message, error_code: 10029 },
    ]);
    if (isOpenAi) continue;
    expect(shownBy(response)).toEqual({
      limit: '2',
      remaining: '0',
      reset: expect.stringMatching(/^(3600|35\d\d)$/),
      retryAfter: inHalfAnHour,
    });
  }
});

it('a limit is of each key', async () => {
  const { client, workspaceId } = await openTenant(service, { limits: { reads: twoAnHour } });
  const { apiKey } = await createApiKey(operator(), { workspaceId, name: null, expiresAt: null });
  const other = clientOf(service, { apiKey });
  const statuses = [];
  for (const each of [client, client, client, other, other, other])
    statuses.push((await each.get('/chats')).status);
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429]);
});

it('a send that is refused is an envelope, and leaves the chat as it was, and its key free', async () => {
  const tenant = await openTenant(service, { limits: { sends: '1/h' }, titles: false });
  const chat = await tenant.createChat();
  dataOf(await tenant.send(chat));
  const ofRequests = new RegExp(`^W#${tenant.workspaceId}#(C|REQUEST)#`);
  const everything = async () => (await table.readAll()).filter(({ pk }) => ofRequests.test(String(pk)));
  const before = await everything();
  for (const stream of [true, false]) {
    const response = await tenant.client.request('POST', `/chats/${chat.id}/messages`, {
      body: { message: 'Once more', agent_id: tenant.agentId, stream },
      headers: { Accept: 'text/event-stream', ...(!stream && { 'Idempotency-Key': 'refused once' }) },
    });
    expect(response.status).toBe(429);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(response.headers.get('x-request-id')).toMatch(/./);
    expect(await response.json()).toMatchObject({ data: null, error_code: 10029 });
  }
  expect(await everything()).toEqual(before);
  expect(before.filter((item) => 'lease_id' in item)).toEqual([]);
  // The last one is of the send that was let in.
  expect(before.map(({ sk }) => sk).toSorted()).toEqual(['CHAT', 'M#0000001', 'M#0000002', 'REQUEST']);
});

describe('what requests use', () => {
  /** The Retry-After of a rejection, in hours. */
  const hoursOf = (response: Pick<ApiResponse, 'headers'>) => Number(shownBy(response).retryAfter) / 3600;
  const useOfTool = 'consultant_lookup {"query":"anything"}';
  const beyond = (limit: string) =>
    expect.stringMatching(new RegExp(`^429/10029 Rate limit exceeded: ${limit}, try again in \\d+ s$`));

  it('counts calls of models: one of a send, and those of tools with the next', async () => {
    const tenant = await openTenant(service, { limits: { modelCalls: '24/d:4' }, openai: true });
    const tool = await chatWithTool(service, tenant, 'consultant_lookup');
    // Two calls of the model.
    await tool.say(useOfTool);
    const sendHello = () => send(tool.client, tool, tool.chatId, 'Hello');
    const second = await sendHello();
    expect(second.status).toBe(200);
    expect(shownBy(second)).toMatchObject({ limit: '10' });
    const complete = () => openAiRequests(service, tenant).send();
    expect((await complete()).status).toBe(200);
    const history = () => tool.client.get(`/chats/${tool.chatId}/messages?external_user_id=a`);
    const before = (await history()).body;
    const rejected = await sendHello();
    expect(summaryOf(rejected)).toEqual(beyond('model calls are limited to 24/d:4'));
    expect(shownBy(rejected)).toMatchObject({ limit: '4', remaining: '0' });
    expect(hoursOf(rejected)).toBeCloseTo(1, 1);
    expect((await history()).body).toEqual(before);
    const stream = await tool.client.stream(tool.chatId, { message: 'Hello', agent_id: tool.agentId });
    expect(stream.response.status).toBe(429);
    const completion = await openAiRequests(service, tenant).rejection();
    expect(completion).toMatchObject({
      ...{ status: 429, type: 'requests', param: null, code: 'rate_limit_exceeded' },
      message: expect.stringContaining('model calls are limited to 24/d:4'),
    });
    expect(hoursOf(completion)).toBeCloseTo(1, 1);
    expect(completion.headers.get('x-ratelimit-remaining-requests')).toBe('0');
  });

  it('counts requests of batches when they are created, with a call of a model each', async () => {
    const tenant = await openTenant(service, { limits: { batchRequests: '5/d', modelCalls: '24/d:6' } });
    const create = (count: number) =>
      tenant.client.post('/batches', { agent_id: tenant.agentId, requests: batchOf(count) });
    const never = await create(6);
    expect(summaryOf(never)).toBe('400/10006 batch requests are limited to 5/d: 6 at once are too many');
    expect(shownBy(never)).toMatchObject({ retryAfter: null });
    expect((await create(3)).status).toBe(202);
    const rejected = await create(3);
    expect(summaryOf(rejected)).toEqual(beyond('batch requests are limited to 5/d'));
    expect(hoursOf(rejected)).toBeCloseTo(4.8, 1);
    expect((await create(2)).status).toBe(202);
    expect(dataOf(await tenant.client.get<unknown[]>('/batches'))).toHaveLength(2);
    // Five of the six calls are those of the batches.
    const chat = await tenant.createChat();
    expect((await tenant.send(chat)).status).toBe(200);
    expect(summaryOf(await tenant.send(chat))).toEqual(beyond('model calls are limited to 24/d:6'));
  });

  it('counts the calls of a batch’s tools too, when a worker has made them', async () => {
    const tenant = await openTenant(service, { limits: { modelCalls: '24/d:4' } });
    const { agentId, client } = await chatWithTool(service, tenant, 'consultant_lookup');
    const requests = batchOf(2, () => ({ message: useOfTool }));
    expect(await runBatch(client, { agentId }, requests)).toMatchObject({ completed_requests: 2 });
    const rejected = await tenant.send(await tenant.createChat());
    expect(summaryOf(rejected)).toEqual(beyond('model calls are limited to 24/d:4'));
  });

  it('counts uploads and their bytes, at either door', async () => {
    const gateway = { baseUrl: `${service.run.endpoints.gateway}/v1` };
    for (const door of [service, gateway]) {
      const tenant = await openTenant(service, { limits: { uploadedMegabytes: '1/d' } });
      const uploader = uploaderOf(door, tenant);
      // A rejected file is not stored, and not counted.
      const content = 'x'.repeat(0.6 * bytesPerToken);
      expect((await uploader.file('a.exe', content)).status).toBe(400);
      for (const name of ['a.txt', 'b.txt']) expect((await uploader.file(name, content)).status).toBe(200);
      const rejected = await uploader.file('c.txt', 'Text');
      expect(summaryOf(rejected)).toEqual(beyond('uploaded megabytes are limited to 1/d'));
      expect(hoursOf(rejected)).toBeCloseTo(4.8, 1);
      expect((await fileBucketOf(service).keysOf(tenant.workspaceId)).objects).toHaveLength(2);
      expect((await tenant.client.get('/chats')).status).toBe(200);
    }
    const { workspaceId, ...few } = await openTenant(service, { limits: { uploads: twoAnHour } });
    const statuses: number[] = [];
    for (const door of [service, gateway, service, gateway])
      statuses.push((await uploaderOf(door, few).file('a.txt', 'Text')).status);
    expect(statuses).toEqual([200, 200, 429, 429]);
    expect((await fileBucketOf(service).keysOf(workspaceId)).objects).toHaveLength(2);
  });

  it('counts bytes of responses to reads', async () => {
    const tenant = await openTenant(service, { limits: { downloadedMegabytes: '1/d' } });
    const chat = await tenant.createChat();
    const body = { agent_id: tenant.agentId, message: 'x'.repeat(250_000), resumable: true, stream: true };
    const stream = await tenant.client.stream(chat.id, body);
    const [created] = (await stream.all()) as StreamEvent[];
    const path = `/chats/${chat.id}/messages?external_user_id=reader`;
    let page = await tenant.client.get(path);
    const size = JSON.stringify(page.body).length;
    expect(size).toBeGreaterThan(250_000);
    let pages = 1;
    for (; page.status === 200; pages += 1) page = await tenant.client.get(path);
    // The one that passes the limit is sent, and the next is rejected.
    expect(pages - 1).toBe(Math.ceil(bytesPerToken / size));
    expect(summaryOf(page)).toEqual(beyond('downloaded megabytes are limited to 1/d'));
    expect(hoursOf(page)).toBeCloseTo((((pages - 1) * size) / bytesPerToken - 1) * 24, 0);
    expect((await tenant.send(chat)).status).toBe(200);
    // Resumed streams count too. After a change of limits, the buckets are full.
    await setLimits(tenant.workspaceId, { reads: 'none' });
    const resume = () =>
      tenant.client.request('GET', `/chats/${chat.id}/stream?response_id=${created?.response_id}`);
    let bytes = 0;
    for (let response = await resume(); response.status === 200; response = await resume())
      bytes += (await response.arrayBuffer()).byteLength;
    expect(bytes).toBeGreaterThan(bytesPerToken);
    expect(bytes).toBeLessThan(1.1 * bytesPerToken);
  });
});

describe('what it costs', () => {
  /** The calls of the table by a function during the work. */
  const callsOf = async (name: string, work: () => Promise<unknown>) => {
    const before = service.run.dynamoCalls().length;
    await work();
    const calls = service.run.dynamoCalls().slice(before);
    return calls.filter(({ functionName }) => functionName?.includes(name));
  };

  it('is one write unit for a request, none for one that is known to be refused, none without limits', async () => {
    const { client, workspaceId } = await openTenant(service, { limits: { reads: '3/h' } });
    const cost = async () =>
      (await callsOf('ListBatches', () => client.get('/batches')))
        .map(({ target, consumed }) => `${target} ${consumed.writeUnits}`)
        .toSorted();
    // The runner calls the thread that was used last, so one thread handles all requests.
    for (const _request of [1, 2, 3]) expect(await cost()).toEqual(['Query 0', 'UpdateItem 1']);
    expect(await cost()).toEqual([]);
    await operator().workspaces.update(workspaceId, { limits: 'none' });
    expect(await cost()).toEqual(['Query 0']);
  });

  it('is no read of a rejected list, also in a function that has not seen its bucket', async () => {
    const tenant = await openTenant(service, { limits: { reads: '2/h' }, openai: true });
    // Each route has a function of its own, and all of them share the bucket of reads.
    for (const id of [1, 2]) expect((await tenant.client.get(`/chats/${id}`)).status).toBe(404);
    const lists = {
      'list-published-agents': 'ListPublishedAgents',
      'list-chats': 'ListChats',
      'list-messages': 'ListMessages',
      'list-batches': 'ListBatches',
      'get-batch': 'GetBatch',
      'list-batch-results': 'ListBatchResults',
      'list-models': 'ListModels',
    } as const;
    for (const { route, request } of requestsOf(tenant)) {
      const functionName = lists[route.name as keyof typeof lists];
      if (functionName === undefined) continue;
      const calls = await callsOf(functionName, async () => expect((await request()).status).toBe(429));
      expect([route.name, calls.map(({ target }) => target)]).toEqual([route.name, ['UpdateItem']]);
    }
  });

  it('is a row that goes by itself, once its buckets are full', async () => {
    const { client, workspaceId } = await openTenant(service, { limits: { reads: '6/m:3' } });
    await client.get('/chats');
    const items = (await table.readAll()).filter(({ pk }) => String(pk).startsWith(`W#${workspaceId}#RATE#`));
    expect(items).toEqual([
      {
        pk: expect.any(String),
        sk: expect.stringMatching(/^reads=6\/m:3,.*modelCalls=500000\/d/),
        reads: expect.any(Number),
        downloaded_megabytes: expect.any(Number),
        ttl: expect.any(Number),
      },
    ]);
    const [item] = items as [{ reads: number; ttl: number }];
    expect(item.reads - Date.now()).toBeLessThanOrEqual(10_000);
    // The longest bucket is full again after a day.
    expect(item.ttl - item.reads / 1000).toBeGreaterThan(86_400);
    expect(item.ttl - Date.now() / 1000).toBeLessThan(86_600);
  });
});

it('is set by operators, one for one, and shown', async () => {
  const { workspaceId, client } = await openTenant(service, { limits: { writes: '3/m', openBatches: '3' } });
  const { json } = agentctlOf(service);
  const limits = [
    ...['sends=50/s:100', 'reads=7/m', 'uploads=none', 'writes=default', 'open-batches=25'],
    ...['model-calls=900000/d', 'uploaded-megabytes=none'],
  ].flatMap((limit) => ['--limit', limit]);
  const changed = await json<object>('workspaces', 'update', workspaceId, ...limits);
  expect(changed).toMatchObject({
    limits: 'default',
    own_limits: {
      ...{ reads: '7/m', sends: '50/s:100', uploads: 'none', 'open-batches': '25' },
      ...{ 'model-calls': '900000/d', 'uploaded-megabytes': 'none' },
    },
  });
  expect(changed).not.toHaveProperty('own_limits.writes');
  expect(shownBy(await client.get('/chats'))).toMatchObject({ limit: '7' });
  expect(shownBy(await client.post('/chats', {}))).toMatchObject({ limit: '100' });
  expect(await json('workspaces', 'get', workspaceId)).toEqual(changed);
});
