import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { BatchResource, BatchResultResource } from '#contract/batch.ts';
import { countPreparedFiles } from '#support/attaching.ts';
import { batchesOf, openBatchTenant } from '#support/batch-tenant.ts';
import { expectUsageToAddUp, requestsOf, tally as tallyOf } from '#support/batches.ts';
import type { ApiResponse } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, summaryOf } from '#support/open-tenant.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { createPublishedAgent, operator, setLimits } from '#support/service.ts';
import { uploaderOf } from '#support/upload.ts';
import { useScriptedService } from '#support/use-service.ts';

/** Oldest first: two completed batches, a cancelled one, and one with a reply that stays in progress. */
let batches: BatchResource[];
/** Calls of messages that start with `Wait`, which end when another tenant needs all workers. */
const waitingCalls: ModelCall[] = [];
/** Calls of messages that start with `Hold`, which get their reply from the test. */
const openCalls: ModelCall[] = [];
const { model, callFor, service, tenant } = await useScriptedService(
  {
    // Four workers run ten requests each, and have ten others in their buffers.
    variables: { BATCH_WORKSPACE_SLOTS: '4', REQUESTS_PER_WORKER: '10' },
    maxConcurrency: 4,
    recordCalls: true,
  },
  { titles: true },
);
const { client } = tenant;
const { submit, run, until, end, results: resultsOf, tally } = batchesOf(tenant);
const { onCall } = model;
model.onCall = (call) => {
  const message = messageOf(call);
  if (message === 'Refuse me') call.fail(400);
  else if (message.startsWith('Wait')) waitingCalls.push(call);
  else if (message.startsWith('Hold')) openCalls.push(call);
  else onCall(call);
};
const endWaiting = () => waitingCalls.splice(0).forEach((call) => void call.finish());
const open = () => {
  endWaiting();
  return openBatchTenant(service);
};

/** Empty for content with files, which has parts. */
function messageOf(call: ModelCall): string {
  const content: unknown = call.request.messages.at(-1)?.content;
  return typeof content === 'string' ? content : '';
}

beforeAll(async () => {
  const mixed = requestsOf(25, (index) => (index % 5 === 2 ? { message: 'Refuse me' } : {}));
  const first = await run(mixed);
  const second = await run(requestsOf(1));
  const cancelled = await submit(requestsOf(1, () => ({ message: 'Wait 1' })));
  await vi.waitUntil(() => waitingCalls.length === 1, { timeout: 60_000 });
  dataOf(await client.post(`/batches/${cancelled.id}/cancel`, undefined));
  endWaiting();
  await end(cancelled.id);
  const { id } = await submit(requestsOf(3, (index) => (index === 2 ? {} : { message: `Wait ${index}` })));
  const open = await until(id, ({ completed_requests }) => completed_requests === 1);
  await vi.waitUntil(() => waitingCalls.length === 2, { timeout: 60_000 });
  batches = [first, second, cancelled, open];
});
afterAll(endWaiting);

describe('GET /batches', () => {
  const ids = (response: ApiResponse<BatchResource[]>) => dataOf(response).map(({ id }) => id);
  const list = (query = '') => client.get<BatchResource[]>(`/batches${query}`);

  it('lists all, newest first, as GET of each shows them', async () => {
    const response = await list();
    expect(ids(response)).toEqual(batches.map(({ id }) => id).toReversed());
    expect(response.body.pagination).toMatchObject({
      limit: 50,
      offset: 0,
      total_records: 4,
      total_pages: 1,
    });
    expect(dataOf(response).map(({ completed_requests }) => completed_requests)).toEqual([1, 0, 1, 20]);
    for (const batch of dataOf(response))
      expect(batch).toEqual(dataOf(await client.get(`/batches/${batch.id}`)));
  });

  it('in pages with links that keep the filter', async () => {
    const response = await list('?status=completed&limit=1');
    expect(ids(response)).toEqual([batches[1]?.id]);
    const next = response.body.pagination?.next_page ?? '';
    expect(Object.fromEntries(new URL(next).searchParams)).toEqual({
      status: 'completed',
      limit: '1',
      offset: '1',
      cursor: expect.stringMatching(/^a\d+\.1$/),
    });
    const following = await client.get<BatchResource[]>(next);
    expect(ids(following)).toEqual([batches[0]?.id]);
    expect(following.body.pagination?.next_page).toBeNull();
    expect(following.body.pagination?.prev_page).not.toBeNull();
    expect(ids(await list('?limit=2&offset=1'))).toEqual([batches[2]?.id, batches[1]?.id]);
    expect(ids(await list('?offset=4'))).toEqual([]);
  });

  it.each([
    ['?limit=1001', 'limit must be at most 1000'],
    ['?status=done', 'status must be one of in_progress, completed, failed, cancelling, cancelled'],
    ['?status=', 'status must be one of in_progress, completed, failed, cancelling, cancelled'],
    ['?status=failed&status=failed', 'status is given more than once'],
  ])('refuses %s', async (query, message) => {
    expect(summaryOf(await list(query))).toBe(`400/10006 ${message}`);
  });
});

describe('GET /batches/{batch_id}/results', () => {
  const list = (query = '', index = 0) =>
    client.get<BatchResultResource[]>(`/batches/${batches[index]?.id}/results${query}`);
  const places = (response: ApiResponse<BatchResultResource[]>) =>
    dataOf(response).map(({ custom_id }) => Number(custom_id.slice('id-'.length)));
  const failedIndexes = [2, 7, 12, 17, 22];

  it('shows a success with reply and usage, and a failure with its code', async () => {
    const [success, , failure] = await resultsOf(batches[0]?.id ?? '');
    const call = {
      model: 'openai:test',
      call_type: 'chat',
      total_tokens: 18,
      prompt_tokens: 11,
      completion_tokens: 7,
    };
    expect(success).toMatchObject({
      custom_id: 'id-0',
      status: 'success',
      response_content: 'Hello',
      response_usage: {
        tool_calls: [],
        total_calls: 1,
        total_tokens: 18,
        total_prompt_tokens: 11,
        total_completion_tokens: 7,
        main_response: call,
      },
      error_code: null,
      error_message: null,
    });
    expect(failure).toMatchObject({
      custom_id: 'id-2',
      status: 'failed',
      response_content: null,
      response_usage: null,
      error_code: 500,
      error_message: 'The model refused the request',
    });
  });

  it('has a row for every call of a model: of tools, and before them', async () => {
    const captain = await createPublishedAgent(tenant.workspaceId, { llm_model: 'openai:captain' });
    const agentId = await createPublishedAgent(tenant.workspaceId, {
      llm_model: 'openai:guide',
      unified_tools: [{ type: 'consultant_call_agent', name: 'ask', config: { agent_id: captain } }],
    });
    const [first, ofTool] = [callFor('Ask twice'), callFor('Is it safe?')];
    const ended = submit([{ custom_id: 'id-0', message: 'Ask twice' }], { agent_id: agentId });
    (await first).callTools({ name: 'ask', arguments: { message: 'Is it safe?' } });
    (await first).finish({ prompt_tokens: 100, completion_tokens: 10 });
    (await ofTool).chunk('It is.');
    (await ofTool).finish({ prompt_tokens: 20, completion_tokens: 2 });
    const { id } = await end((await ended).id);
    const [result] = await resultsOf(id);
    expectUsageToAddUp(result as BatchResultResource);
    const call = (model: string, call_type: string, prompt_tokens: number, completion_tokens: number) => ({
      ...{ model: `openai:${model}`, call_type, prompt_tokens, completion_tokens },
      total_tokens: prompt_tokens + completion_tokens,
    });
    expect(result?.response_usage).toMatchObject({
      tool_calls: [call('guide', 'chat', 100, 10), call('captain', 'consultant_call_agent', 20, 2)],
      main_response: call('guide', 'chat', 11, 7),
      total_calls: 3,
      total_tokens: 150,
    });
  });

  it('prepares a file that fifteen requests of two batches attach once, in all workers together', async () => {
    const upload = await uploaderOf(service, tenant).file('notes.txt', 'Fifteen requests read this');
    const { uuid } = dataOf(upload) as unknown as { uuid: string };
    const before = countPreparedFiles(service);
    const submitted = await Promise.all(
      [8, 7].map((count) => submit(requestsOf(count, () => ({ attached_file_uuids: [uuid] })))),
    );
    for (const { id, total_requests } of submitted) {
      await end(id);
      expect(await tally(id)).toEqual({ success: total_requests });
    }
    const readers = model.calls.filter(({ request }) =>
      JSON.stringify(request.messages).includes('Fifteen requests read this'),
    );
    expect(readers).toHaveLength(15);
    expect(countPreparedFiles(service) - before).toBe(1);
  });

  it('in input order, all of a status or of all', async () => {
    expect(places(await list())).toEqual(Array.from({ length: 25 }, (_, index) => index));
    const failed = await list('?status=failed');
    expect(places(failed)).toEqual(failedIndexes);
    expect(failed.body.pagination?.total_records).toBe(5);
    expect((await list('?status=success')).body.pagination?.total_records).toBe(20);
    for (const status of ['pending', 'processing'])
      expect(places(await list(`?status=${status}`))).toEqual([]);
    expect(dataOf(await list('?status=processing', 3))).toHaveLength(2);
  });

  it('in pages, of a status too', async () => {
    expect(places(await list('?limit=3&offset=10'))).toEqual([10, 11, 12]);
    const response = await list('?status=failed&limit=2&offset=2');
    expect(places(response)).toEqual([12, 17]);
    expect(response.body.pagination).toMatchObject({ total_records: 5, total_pages: 3, current_page: 2 });
    const following = await client.get<BatchResultResource[]>(response.body.pagination?.next_page ?? '');
    expect(places(following)).toEqual([22]);
  });

  it('shows what is being done without an end', async () => {
    for (const result of (await resultsOf(batches[3]?.id ?? '')).slice(0, 2))
      expect(result).toMatchObject({ status: 'processing', response_content: null, processed_at: null });
  });

  it.each([
    ['?limit=1001', 'limit must be at most 1000'],
    ['?status=completed', 'status must be one of pending, processing, success, failed'],
  ])('refuses %s', async (query, message) => {
    expect(summaryOf(await list(query))).toBe(`400/10006 ${message}`);
  });

  it('has them also when the table has deleted all that expires', async () => {
    const table = closeAfterTests(dataTableOf(service));
    const batch = await run(requestsOf(12, (index) => ({ external_user_id: `user-${index}` })));
    const results = await resultsOf(batch.id);
    expect(await tally(batch.id)).toEqual({ success: 12 });
    const expiring = (await table.readAll()).filter(
      (item) => item.ttl !== undefined && `${item.pk} ${item.sk}`.includes(batch.id),
    ) as { pk: string; sk: string }[];
    expect(expiring.length).toBeGreaterThan(12);
    await table.removeItems(expiring.map(({ pk, sk }) => ({ pk, sk })));
    expect(await resultsOf(batch.id)).toEqual(results);
    expect(dataOf(await client.get(`/batches/${batch.id}`))).toMatchObject({ status: 'completed' });
  });
});

/** Waits for so many calls of `Hold` messages, and returns them. */
async function takeOpenCalls(count: number): Promise<ModelCall[]> {
  await vi.waitUntil(() => openCalls.length >= count, { timeout: 60_000 });
  return openCalls.splice(0);
}

/** Responds to the calls and to all that follow, until the returned function is called. */
function respondToAll(calls: readonly ModelCall[]): () => void {
  for (const call of calls) respond(call);
  const responding = setInterval(() => openCalls.splice(0).forEach((call) => void respond(call)), 20);
  return () => clearInterval(responding);
}

const respond = (call: ModelCall): void => replyWith(call, `To: ${messageOf(call)}`);

it('a cancel in the middle fails at once what was not begun, lets what was finish, and then is final', async () => {
  const tenant = await open();
  const requests = requestsOf(100, (index) => ({ message: `Hold ${index}` }));
  const batch = await tenant.submit(requests);
  const calls = await takeOpenCalls(40);
  const { status, body } = await tenant.cancel(batch.id);
  expect([status, body.data.status, body.data.cancelled_at]).toEqual([202, 'cancelling', null]);
  const meanwhile = await tenant.results(batch.id);
  expect(tallyOf(meanwhile)).toEqual({ 'failed 499': 20, processing: 80 });
  expect((await tenant.cancel(batch.id)).body.message).toBe(
    'Only a batch in progress can be cancelled; this one is cancelling',
  );
  const stop = respondToAll(calls);
  const ended = await tenant.end(batch.id);
  stop();
  // What a client has seen as processing finishes normally.
  expect(ended).toMatchObject({ status: 'cancelled', completed_requests: 80, failed_requests: 20 });
  expect([ended.completed_at, ended.cancelled_at === null]).toEqual([null, false]);
  const results = await tenant.checkWhole(ended, requests);
  for (const result of results.filter(({ status: its }) => its === 'failed'))
    expect(result).toMatchObject({
      error_code: 499,
      error_message: 'The batch was cancelled',
      history_id: null,
    });
  expect(model.calls.filter((call) => /^Hold/.test(messageOf(call)))).toHaveLength(80);
});

it('a batch of a workspace that is switched off fails as a whole', async () => {
  const tenant = await open();
  const requests = requestsOf(120, (index) => ({ message: `Hold ${index}` }));
  const batch = await tenant.submit(requests);
  const calls = await takeOpenCalls(40);
  await operator().workspaces.update(tenant.workspaceId, { enabled: false });
  expect(summaryOf(await tenant.client.get('/batches'))).toMatch(/^403\/10001 /);
  const stop = respondToAll(calls);
  const { batches } = await import('#runtime/composition/services.ts');
  await vi.waitUntil(async () => (await batches().get(tenant.workspaceId, batch.id))?.status === 'failed', {
    timeout: 30_000,
  });
  await operator().workspaces.update(tenant.workspaceId, { enabled: true });
  const ended = await tenant.end(batch.id);
  expect(tallyOf(await tenant.checkEnded(ended, requests))).toEqual({ success: 80, 'failed 500': 40 });
  stop();
  expect(openCalls).toHaveLength(0);
});

it('a workspace has at most ten open batches, however many are submitted at once', async () => {
  const tenant = await open();
  await setLimits(tenant.workspaceId, { batches: 'none' });
  const { client, agentId: agent_id } = tenant;
  const create = (name: string) =>
    client.post<BatchResource>('/batches', {
      agent_id,
      requests: [{ custom_id: name, message: `Hold ${name}` }],
    });
  const responses = await Promise.all(
    Array.from({ length: 13 }, (_, index) => create(`one of many ${index}`)),
  );
  const created = responses.filter(({ status }) => status === 202).map(({ body }) => body.data.id);
  expect(created).toHaveLength(10);
  const another = await create('the eleventh');
  for (const rejected of [...responses.filter(({ status }) => status !== 202), another]) {
    expect(summaryOf(rejected)).toBe(
      '429/10029 The workspace has 10 open batches, as many as it may have: wait for the end of one, or cancel one',
    );
    expect(rejected.headers.get('retry-after')).toBe('30');
  }
  const listed = await client.get<BatchResource[]>('/batches');
  expect(listed.body.data.map(({ id }) => id).toSorted()).toEqual(created.toSorted());

  await setLimits(tenant.workspaceId, { openBatches: '11' });
  const own = await create('with a limit of its own');
  expect(own.status).toBe(202);
  expect((await create('beyond that')).status).toBe(429);
  const stop = respondToAll(await takeOpenCalls(0));
  try {
    for (const id of [...created, own.body.data.id]) expect((await tenant.end(id)).status).toBe('completed');
    const after = await create('once they have ended');
    expect(after.status).toBe(202);
    await tenant.end(after.body.data.id);
  } finally {
    stop();
  }
});
