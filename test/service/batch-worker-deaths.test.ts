import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ListExecutionsCommand, SFNClient } from '@aws-sdk/client-sfn';
import { afterAll, expect, it, vi } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { BatchResource } from '#contract/batch.ts';
import { usage } from '#runtime/composition/services.ts';
import { type BatchTenant, openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf, operatorAt } from '#support/data-table.ts';
import { type DynamoProxy, startDynamoProxy } from '#support/dynamo-proxy.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf } from '#support/open-tenant.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { contentsOf, createChat, historyOf, send } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useScriptedService } from '#support/use-service.ts';

const isSoak = process.env.SOAK !== undefined;
vi.setConfig({ testTimeout: isSoak ? 3_600_000 : 180_000 });

/** Calls of messages that start with `Hold`, and calls for repairs. */
const openCalls: ModelCall[] = [];
let isDown = false;
const tableProxy = closeAfterTests(await startDynamoProxy());
const queueProxy = closeAfterTests(await startDynamoProxy());
const { model, service } = await useScriptedService({
  variables: {
    AWS_ENDPOINT_URL_DYNAMODB: tableProxy.url,
    AWS_ENDPOINT_URL_SQS: queueProxy.url,
    LEASE_SECONDS: '4',
    BATCH_WORKSPACE_SLOTS: '3',
    REQUESTS_PER_WORKER: '10',
  },
  maxConcurrency: 4,
});
model.onCall = (call) => {
  if (messageOf(call).startsWith('Hold') || isRepair(call)) openCalls.push(call);
  else if (isDown) call.fail(503);
  else respond(call);
};
tableProxy.emulator = service.run.endpoints.dynamodb;
queueProxy.emulator = service.run.endpoints.sqs;
const table = closeAfterTests(dataTableOf(service));
const lambda = new LambdaClient({
  ...operatorAt(service.run.endpoints.lambda),
  // Only one reconciler runs at a time, so Lambda throttles concurrent invocations.
  maxAttempts: 10,
});
afterAll(() => lambda.destroy());

/** The last message; one with files consists of parts and is returned as JSON. */
const messageOf = (call: ModelCall): string => {
  const content: unknown = call.request.messages.at(-1)?.content ?? '';
  return typeof content === 'string' ? content : JSON.stringify(content);
};
const isRepair = (call: ModelCall): boolean => messageOf(call).startsWith('Your answer was rejected');
const open = () => openBatchTenant(service, { titles: false });
const worker = 'ProcessBatchItems';

const respond = (call: ModelCall): void => replyWith(call, `To: ${messageOf(call)}`);

type Handle = DynamoProxy['handle'];

/** Kills the worker once, at a matching call to AWS. All other calls are forwarded. */
function dieAt(
  isIt: (call: Parameters<Handle>[0]) => boolean,
  time: 'before' | 'after',
): { hasDied: () => boolean } {
  let hasDied = false;
  const handle: Handle = async (call, pass) => {
    if (hasDied || !call.functionName.includes(worker) || !isIt(call)) return pass();
    hasDied = true;
    if (time === 'after') await pass();
    service.run.killWorkers(worker);
    return undefined;
  };
  tableProxy.handle = handle;
  queueProxy.handle = handle;
  return { hasDied: () => hasDied };
}

/** Makes messages of slots a minute old that no worker has acquired. */
async function passMinute({ workspaceId }: BatchTenant, { id }: BatchResource): Promise<void> {
  const key = keys.batch(workspaceId, id);
  const { slots = {} } = ((await table.read(key)) ?? {}) as { slots?: Record<string, { w?: string }> };
  const unowned = Object.keys(slots).filter((number) => slots[number]?.w === undefined);
  const past = Date.now() - 60_000;
  // The slot may be removed at the same time.
  for (const number of unowned)
    await table.change(key, { [`slots.${number}.t`]: past }).catch(() => undefined);
}

const nameOf = (logicalId: string): string =>
  Object.entries(service.run.physicalIds).find(([id]) => id.replace(/[0-9A-F]{8}$/, '') === logicalId)?.[1] ??
  expect.unreachable(`There is no ${logicalId}`);

/** Invokes the reconciler three times concurrently. */
async function reconcileTogether(): Promise<void> {
  const FunctionName = nameOf('ReconcileBatches');
  await Promise.all(
    Array.from({ length: 3 }, () => lambda.send(new InvokeCommand({ FunctionName, Payload: '{}' }))),
  );
}

/** Waits for the end of a batch that may need the reconciler to end. */
async function endOfReconciled(
  { batchAt, end }: BatchTenant,
  { id }: BatchResource,
  beforehand: () => Promise<void> = async () => {},
): Promise<BatchResource> {
  const giveUpAt = Date.now() + 90_000;
  while (isOpen(await batchAt(id)) && Date.now() < giveUpAt) {
    await beforehand();
    await reconcileTogether();
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
  return end(id, 1);
}

const isOpen = ({ status }: BatchResource): boolean => ['in_progress', 'cancelling'].includes(status);

const writes = new Set(['PutItem', 'UpdateItem', 'TransactWriteItems', 'SendMessageBatch']);

/** Checks that a batch ends although its worker dies at its nth write. @returns whether there was an nth write */
async function endsDespiteDeath(nth: number, time: 'before' | 'after'): Promise<boolean> {
  const tenant = await open();
  const chatId = await createChat(tenant.client, tenant);
  const requests = requestsOf(4, (index) => (index < 2 ? { history_id: chatId } : {}));
  let count = 0;
  const { hasDied } = dieAt(({ target }) => {
    if (writes.has(target)) count += 1;
    return count === nth;
  }, time);
  const batch = await tenant.submit(requests);
  const ended = await endOfReconciled(tenant, batch, async () => {
    if (hasDied()) await passMinute(tenant, batch);
  });
  expect(ended).toMatchObject({ status: 'completed', completed_requests: 4 });
  await tenant.checkWhole(ended, requests, chatId);
  expect(contentsOf(await historyOf(tenant.client, chatId))).toEqual(
    ['Message 0', 'Message 1'].flatMap((message) => [message, `To: ${message}`]),
  );
  return hasDied();
}

/** The simulated world lets workers die at every call in every run. */
it.runIf(isSoak)(
  'a worker that dies at any of its writes leaves nothing that does not end, once',
  async () => {
    // A worker makes about twenty writes.
    const places = Array.from({ length: 40 }, (_, index) => index + 1);
    let died = 0;
    for (const nth of places) {
      let came = false;
      for (const time of ['before', 'after'] as const) {
        const hasDied = await endsDespiteDeath(nth, time).catch((error: unknown) => {
          throw new Error(`When the worker died ${time} write ${nth}`, { cause: error });
        });
        came ||= hasDied;
        if (hasDied) died += 1;
      }
      if (!came) break;
    }
    console.log(`${died} deaths`);
    expect(died).toBeGreaterThan(0);
  },
);

it('what a worker received and never claimed is requeued a minute later, not when SQS delivers it again', async () => {
  const tenant = await open();
  const { hasDied } = dieAt(({ target }) => target === 'UpdateItem', 'before');
  const batch = await tenant.submit(requestsOf(3));
  await vi.waitUntil(hasDied, { timeout: 60_000 });
  await reconcileTogether();
  expect(await tenant.tally(batch.id)).toEqual({ pending: 3 });
  await passMinute(tenant, batch);
  expect((await endOfReconciled(tenant, batch)).completed_requests).toBe(3);
});

const personSchema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };
const person = '{"age": 7}';
const wrong = '{"age": "wrong-text"}';

it.each(['first call', 'repair'] as const)(
  'a reply with a form whose worker dies while it holds the text of the %s is made again',
  async (name) => {
    const tenant = await open();
    const requests = [{ custom_id: 'formed', message: 'Hold the form' }];
    const response_format = { type: 'json_schema', json_schema: { name: 'person', schema: personSchema } };
    openCalls.splice(0);
    const batch = await tenant.submit(requests, { response_format });
    const nextCall = async () => {
      await vi.waitUntil(() => openCalls.length > 0, { timeout: 60_000 });
      return openCalls.shift() as ModelCall;
    };
    let current = await nextCall();
    if (name === 'repair') {
      replyWith(current, wrong);
      current = await nextCall();
      expect(isRepair(current)).toBe(true);
    }
    current.chunk('{"age": "half-te');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(service.run.killWorkers(worker)).toBeGreaterThan(0);
    const noText = async () =>
      expect(JSON.stringify(await table.readAll())).not.toMatch(/wrong-text|half-te/);
    await noText();
    expect(await tenant.tally(batch.id)).toEqual({ processing: 1 });

    const paid: ModelCall[] = [];
    const ended = await endOfReconciled(tenant, batch, async () => {
      for (const call of openCalls.splice(0)) {
        expect(call.body).toMatchObject({ response_format: { json_schema: { schema: personSchema } } });
        paid.push(call);
        replyWith(call, isRepair(call) ? person : wrong);
      }
    });
    const results = await tenant.checkWhole(ended, requests);
    expect(results).toMatchObject([{ response_content: person, response_usage: { total_calls: 2 } }]);
    expect(paid.map(isRepair)).toEqual([false, true]);
    // The calls of the dead worker are counted nowhere: it has died before it could count them.
    const today = new Date().toISOString().slice(0, 10);
    const counted = async () =>
      (await Array.fromAsync(usage().between(tenant.workspaceId, today, today)))
        .flat()
        .map(({ models }) => models['openai:test']?.calls);
    await expect.poll(counted).toEqual([paid.length]);
    await noText();
  },
);

it('a workspace never holds all workers, however much it has to do', async () => {
  const [busy, other] = [await open(), await open()];
  const large = await busy.submit(requestsOf(100, (index) => ({ message: `Hold ${index}` })));
  await vi.waitUntil(() => openCalls.length >= 30, { timeout: 60_000 });
  // The fourth worker serves the other workspace, while no request of the first workspace has ended.
  expect((await other.run(requestsOf(10))).completed_requests).toBe(10);
  expect(openCalls).toHaveLength(30);
  let most = 0;
  while ((await busy.batchAt(large.id)).status === 'in_progress') {
    most = Math.max(most, openCalls.length);
    for (const call of openCalls.splice(0)) respond(call);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect((await busy.end(large.id)).completed_requests).toBe(100);
  expect(most).toBeLessThanOrEqual(30);
});

it('a request whose file has expired meanwhile fails with 400 and says so', async () => {
  const tenant = await open();
  const upload = uploaderOf(service, tenant);
  const { uuid } = dataOf(await upload.file('notes.txt', 'Notes', { data: { scope: 'ephemeral' } })) as {
    uuid: string;
  };
  isDown = true;
  const batch = await tenant.submit(
    requestsOf(2, (index) => (index === 0 ? { attached_file_uuids: [uuid] } : {})),
  );
  const item = () => table.read(keys.batchItem(tenant.workspaceId, batch.id, 0));
  await vi.waitUntil(async () => (await item())?.status === 'waiting', { timeout: 60_000 });
  await table.change(keys.file(tenant.workspaceId, uuid), { expires_at: new Date().toISOString() });
  isDown = false;
  const ended = await tenant.end(batch.id);
  const results = await tenant.results(ended.id);
  expect(results.map(({ status, error_code }) => [status, error_code])).toEqual([
    ['failed', 400],
    ['success', null],
  ]);
  expect(results[0]?.error_message).toMatch(/^attached_file_uuids\[0\] has expired/);
});

it('a cancel whose write is answered late is done once, and frees the history that a dead worker held', async () => {
  const tenant = await open();
  const chatId = await createChat(tenant.client, tenant);
  const batch = await tenant.submit(
    requestsOf(2, (index) => ({ message: `Hold ${index}`, ...(index === 0 && { history_id: chatId }) })),
  );
  await vi.waitUntil(() => openCalls.length === 2, { timeout: 60_000 });
  let lost = 0;
  tableProxy.handle = async (call, pass) => {
    const passed = await pass();
    const { sk } = (call.body.Key ?? {}) as { sk?: { S: string } };
    if (lost > 0 || !call.functionName.includes('CancelBatch') || sk?.S !== 'BATCH') return passed;
    if (call.target !== 'UpdateItem') return passed;
    lost += 1;
    return undefined;
  };
  service.run.killWorkers(worker);
  openCalls.splice(0);
  const { status, body } = await tenant.cancel(batch.id);
  expect([lost, status, body.data.status]).toEqual([1, 202, 'cancelling']);
  expect((await tenant.cancel(batch.id)).status).toBe(400);
  const ended = await endOfReconciled(tenant, batch);
  expect(ended).toMatchObject({ status: 'cancelled', failed_requests: 2 });
  expect((await send(tenant.client, tenant, chatId, 'Free again?')).body.data).toBe('To: Free again?');
});

it('a wait that begins when its batch has just ended is over at once, and leaves nothing behind', async () => {
  const tenant = await open();
  let ended = 0;
  tableProxy.handle = async (call, pass) => {
    if (call.functionName.includes('DispatchBatch') && call.target === 'PutItem') {
      ended += 1;
      const { pk } = call.body.Item as Record<'pk', { S: string }>;
      await table.change({ pk: pk.S, sk: 'BATCH' }, { status: 'completed' });
    }
    return pass();
  };
  const { id } = await tenant.submit(requestsOf(1));
  const sfn = new SFNClient(operatorAt(service.run.endpoints.sfn));
  const stateMachineArn = service.run.outputs.BatchWorkflowArn;
  await vi.waitUntil(
    async () => {
      const { executions = [] } = await sfn.send(
        new ListExecutionsCommand({ stateMachineArn, statusFilter: 'SUCCEEDED' }),
      );
      return executions.some(({ name }) => name?.startsWith(id));
    },
    { timeout: 30_000 },
  );
  sfn.destroy();
  expect(ended).toBe(1);
  expect(await table.read(keys.batch(tenant.workspaceId, id))).toMatchObject({ slots: {} });
});

it('a request whose worker fails each time ends as failed with its last attempt', async () => {
  const tenant = await open();
  const requests = [{ custom_id: 'fails', message: 'Hi' }];
  let failures = 0;
  tableProxy.handle = async (call, pass) => {
    const isMessage = call.target === 'PutItem' && JSON.stringify(call.body.Item ?? '').includes('M#0000001');
    if (!call.functionName.includes(worker) || !isMessage) return pass();
    failures += 1;
    // Neither the SDK nor the worker knows this error.
    return { status: 400, body: '{"__type":"SomethingElse"}' };
  };
  const batch = await tenant.submit(requests);
  await expect.poll(() => failures).toBe(1);
  const key = keys.batchItem(tenant.workspaceId, batch.id, 0);
  await expect.poll(() => table.read(key)).toMatchObject({ status: 'waiting', attempt: 1 });
  // The tenth attempt is the last one.
  await table.change(key, { attempt: 9 });
  const ended = await tenant.end(batch.id);
  const [result] = await tenant.checkEnded(ended, requests);
  expect(result).toMatchObject({ error_code: 500, error_message: 'The request could not be processed' });
  expect(failures).toBe(2);
});

it.runIf(isSoak)(
  'undelivered webhooks of one workspace do not keep a dead worker of another from being taken up',
  async () => {
    const count = 20_000;
    tableProxy.handle = (_call, pass) => pass();
    const [dead, other] = [await open(), await open()];
    const due = new Date(Date.now() - 3_600_000).toISOString();
    const next = new Date(Date.now() + 3_600_000).toISOString();
    const batchIds = Array.from({ length: count }, () => crypto.randomUUID());
    await table.writeItems(
      batchIds.flatMap((batchId) => [
        {
          ...keys.webhookDelivery(dead.workspaceId, batchId),
          ...{ body: '{}', state: 'pending', round: 1, attempts: 3, all_attempts: 3, next_at: next },
        },
        {
          ...keys.operatorsWebhook(dead.workspaceId, due, batchId),
          ...{ workspace_id: dead.workspaceId, batch_id: batchId, due },
        },
      ]),
    );
    openCalls.splice(0);
    const batch = await other.submit(requestsOf(1, () => ({ message: 'Hold on' })));
    await vi.waitUntil(() => openCalls.length === 1, { timeout: 60_000 });
    service.run.killWorkers(worker);
    // Its slot is silent.
    await table.change(keys.batch(other.workspaceId, batch.id), { 'slots.1.t': Date.now() - 60_000 });
    openCalls.splice(0);
    const startedAt = performance.now();
    const run = lambda.send(new InvokeCommand({ FunctionName: nameOf('ReconcileBatches'), Payload: '{}' }));
    await vi.waitUntil(() => openCalls.length === 1, { timeout: 60_000 });
    console.log(`taken up after ${Math.round(performance.now() - startedAt)} ms, next to ${count} webhooks`);
    // On a busy machine, a lease of 4 s may expire meanwhile, and another worker calls the model.
    while (isOpen(await other.batchAt(batch.id))) {
      for (const call of openCalls.splice(0)) respond(call);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect((await other.end(batch.id)).completed_requests).toBe(1);
    expect((await run).FunctionError).toBeUndefined();
  },
);
