import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { useLocalTable } from '../../bin/operator.ts';
import { checkChats, checkEnded, requestsOf } from './batches.ts';
import { type Client, clientOf } from './client.ts';
import { startKillableService } from './killed-service.ts';
import { replyWith } from './model-server.ts';
import { dataOf } from './open-tenant.ts';
import { type ModelCall, type ScriptedModel, startScriptedModel } from './scripted-model.ts';
import { seededRandom } from './seeded-random.ts';
import { createTenant, type Tenant } from './service.ts';
import { contentsOf, createChat, historyOf } from './turns.ts';
import { expectedSignature, startWebhookReceiver, status, type WebhookReceiver } from './webhook-receiver.ts';

export interface ChaosOptions {
  assembly: string;
  seed: number;
  requests: number;
  /** How often the whole service is killed. */
  kills: number;
  /** Milliseconds between a start and its kill, ± 25 %. */
  life: number;
  seconds: number;
}

/** How often a client polls a batch, in milliseconds. */
const pollEvery = 200;

/**
 * Runs a batch under many faults, and checks that its outcome is the same as without faults. The service is killed and
 * restarted, and between these kills its workers are killed. Every message is delivered twice. The table rejects one
 * call in twenty, has conflicts and throttles. Every third call of the model fails, and so do the first two deliveries
 * of the webhook.
 */
export async function runChaos(options: ChaosOptions): Promise<void> {
  const random = seededRandom(options.seed);
  const folder = await mkdtemp(join(tmpdir(), 'chaos-'));
  const model = await startScriptedModel();
  // The first two deliveries fail.
  const receiver = await startWebhookReceiver(status(500), status(503), status(200));
  failEveryThirdCall(model, random);
  const start = (isLast = false) =>
    startKillableService({
      assembly: options.assembly,
      dataDir: join(folder, 'data'),
      environment: {
        OPENAI_BASE_URL: model.url,
        LEASE_SECONDS: '3',
        WEBHOOK_RETRY_SECONDS: Array(30).fill(1).join(','),
      },
      seed: Math.floor(random() * 2 ** 31),
      // The last start kills no workers: SQS would hide the messages of a killed worker for their visibility timeout,
      // and the batch would end too late.
      killsWorkersAfter: isLast ? 0 : Math.floor(options.life * (0.4 + random() * 0.3)),
    });
  let service = await start();
  try {
    useLocalTable(service.tableName, service.dynamodb);
    const tenant = await persistently(() => createTenant({ model: 'openai:test', titles: false }));
    const client = () => clientOf({ baseUrl: `${service.url}/v1` }, tenant);
    const submitted = await submitBatch(client, tenant, options.requests, receiver);
    const end = performance.now() + options.seconds * 1000;
    const read = () =>
      persistently(async () => dataOf(await client().get<BatchResource>(`/batches/${submitted.id}`)));
    for (let kill = 0; kill < options.kills; kill += 1) {
      await sleep(options.life * (0.75 + random() / 2));
      await service.kill();
      service = await start(kill === options.kills - 1);
      const { completed_requests, failed_requests, status } = await read();
      console.log(`after kill ${kill + 1}: ${status}, ${completed_requests} + ${failed_requests}`);
    }
    const batch = await readEnded(read, end);
    expect(batch).toMatchObject({ status: 'completed', completed_requests: options.requests });
    await checkOutcome(client, batch, submitted);
    await checkEvent(receiver, batch);
    console.log(`${options.requests} requests took ${model.calls.length} calls of the model`);
  } finally {
    await service.kill();
    await Promise.all([model.close(), receiver.close()]);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function failEveryThirdCall(model: ScriptedModel, random: () => number): void {
  let calls = 0;
  model.onCall = (call) => {
    calls += 1;
    if (calls % 3 === 0) failOneWay(call, random());
    else replyWith(call, `To: ${call.request.messages.at(-1)?.content}`);
  };
}

/** A client of the service that runs now. */
type CurrentClient = () => Client;

async function submitBatch(client: CurrentClient, tenant: Tenant, count: number, { url }: WebhookReceiver) {
  const chatId = await persistently(() => createChat(client(), tenant));
  const requests = requestsOf(count, (index) => (index % 10 === 3 ? { history_id: chatId } : {}));
  const body = { agent_id: tenant.agentId, requests, webhook: { url, secret: 'chaos' } };
  const { id } = await persistently(async () => dataOf(await client().post<BatchResource>('/batches', body)));
  /** One request in ten continues the chat. */
  return { id, requests, chatId };
}

type SubmittedBatch = Awaited<ReturnType<typeof submitBatch>>;

async function readEnded(read: () => Promise<BatchResource>, end: number): Promise<BatchResource> {
  for (;;) {
    const batch = await read();
    if (batch.status !== 'in_progress') return batch;
    if (performance.now() > end) throw new Error(`The batch did not end: ${JSON.stringify(batch)}`);
    await sleep(pollEvery);
  }
}

/** Checks results and chats: each request has one reply, and requests that continue a chat do so one after another. */
async function checkOutcome(
  client: CurrentClient,
  batch: BatchResource,
  { requests, chatId }: SubmittedBatch,
): Promise<void> {
  const results = await persistently(() => checkEnded(client(), batch, requests));
  const chained = requests.flatMap(({ history_id, message }) =>
    history_id === undefined ? [] : [String(message)],
  );
  const history = await persistently(() => historyOf(client(), chatId));
  expect(contentsOf(history)).toEqual(chained.flatMap((message) => [message, `To: ${message}`]));
  await checkChats(
    { ...client(), get: (path, given) => persistently(() => client().get(path, given)) },
    requests,
    results,
    chatId,
  );
}

/** The webhook is retried until the receiver accepts it. Each attempt has the same event id and body, and is signed. */
async function checkEvent(receiver: WebhookReceiver, batch: BatchResource): Promise<void> {
  await receiver.called(3);
  const calls = receiver.calls.filter(({ payload }) => payload.data.id === batch.id);
  expect(calls.length).toBeGreaterThanOrEqual(3);
  expect(new Set(calls.map(({ headers }) => headers['x-service-event-id'])).size).toBe(1);
  expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
  expect(calls[0]?.payload).toMatchObject({
    event: 'batch.completed',
    data: { status: 'completed', completed_requests: batch.total_requests, failed_requests: 0 },
  });
  for (const call of calls)
    expect(call.headers['x-service-signature']).toBe(expectedSignature('chaos', call));
}

function failOneWay(call: ModelCall, chance: number): void {
  if (chance < 1 / 3) call.fail(429);
  else if (chance < 2 / 3) call.fail(500);
  else call.reset();
}

/** Retries as clients do, if a request is rejected or its response is lost: 10 attempts at most. */
async function persistently<Result>(send: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await send();
    } catch (error) {
      if (attempt === 10) throw error;
      await sleep(100 * attempt);
    }
}
