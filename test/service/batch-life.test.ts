import { expect, it, vi } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf, tally } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
import { summaryOf } from '#support/open-tenant.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { operator, setLimits } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, service } = await useScriptedService({
  // Four workers run ten requests each, and have ten others in their buffers.
  variables: { BATCH_WORKSPACE_SLOTS: '4', REQUESTS_PER_WORKER: '10' },
  maxConcurrency: 4,
});
const { onCall } = model;
// Messages that start with `Hold` get their reply from the test.
model.onCall = (call) => (messageOf(call).startsWith('Hold') ? openCalls.push(call) : onCall(call));

const openCalls: ModelCall[] = [];
const messageOf = (call: ModelCall): string => call.request.messages.at(-1)?.content ?? '';
const open = () => openBatchTenant(service);

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
  expect(tally(meanwhile)).toEqual({ 'failed 499': 20, processing: 80 });
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
  expect(tally(await tenant.checkEnded(ended, requests))).toEqual({ success: 80, 'failed 500': 40 });
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
