import { expect } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import type { StreamEvent } from '#contract/events.ts';
import { documentedRoutes, type RouteName, type routes } from '#contract/routes.ts';
import type { OperationCalls, OperationName } from '../../bin/cost/operations.ts';
import { requestsOf, submit, waitForBatch, waitForBatchEnd } from './batches.ts';
import { type Client, clientOf } from './client.ts';
import { dataOf, openTenant } from './open-tenant.ts';
import { openAiRequests } from './openai-requests.ts';
import { callsOf } from './operation-calls.ts';
import { callsByMessage, type ModelCall, type ScriptedModel } from './scripted-model.ts';
import { createTenant, type Service, type Tenant } from './service.ts';
import { createChat, send } from './turns.ts';
import { uploaderOf } from './upload.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

type Routes = typeof routes;
/** The routes of docs/openapi.json that read. */
type ReadName = {
  [Name in RouteName]: Routes[Name] extends { dialect: 'openai' }
    ? never
    : Routes[Name] extends { method: 'GET' }
      ? Name
      : never;
}[RouteName];

/** @param values of the parameters of paths, by name */
const pathWith = (path: string, values: Readonly<Record<string, unknown>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (parameter, name: string) => {
    if (values[name] === undefined) throw new Error(`${path}: the test has no value for ${parameter}`);
    return String(values[name]);
  });

/** A call of each route that reads, without query: a new one needs no line in the tests of all routes. */
const readsOf = <Result>(
  values: Readonly<Record<string, unknown>>,
  get: (path: string) => Result,
): Record<ReadName, () => Result> =>
  Object.fromEntries(
    documentedRoutes
      .filter(({ method }) => method === 'GET')
      .map(({ name, path }) => [name, () => get(pathWith(path, values))]),
  ) as Record<ReadName, () => Result>;

const user = { external_user_id: 'ada' };

/** Limits are set, so that rate buckets are written. They are so high that no request is rejected. */
const limits = { reads: '500/s', sends: '500/s', batches: '500/s', uploads: '500/s' };

/** The number of chats, and of results, on the pages that are read. */
const pageLength = 50;

/** What operations are measured with. */
interface Measurement {
  readonly service: Service;
  readonly model: ScriptedModel;
  readonly hook: Pick<WebhookReceiver, 'url' | 'calls' | 'called'>;
  readonly tenant: Tenant;
  readonly client: Client;
  /** Runs a batch of `count` requests to its end. */
  run(count: number, fields?: Record<string, unknown>): Promise<BatchResource>;
}

/** Operations that need a batch or a chat in a certain state. */
type Prepared = 'get-batch, open' | 'cancel-batch' | 'batch of 70' | 'stop-reply';

type Works = Record<Exclude<OperationName, Prepared>, () => Promise<unknown>>;

/** Not counted: how often a client polls is not part of a batch's cost. */
const polls = /GetBatch/;

/**
 * Measures the calls to AWS of each operation of the interface, on a run that records its calls and is otherwise idle.
 * Each operation runs once before it is measured, so that one-time work of a function is not counted. Texts are short,
 * a file has 1 MB; the workspace has the stage's limits; its chats have a user.
 */
export async function measureOperations(
  service: Service,
  model: ScriptedModel,
  hook: Pick<WebhookReceiver, 'url' | 'calls' | 'called'>,
): Promise<Record<OperationName, OperationCalls>> {
  const tenant = await createTenant({ model: 'openai:test', limits, openai: true });
  const client = clientOf(service, tenant);
  const run = async (count: number, fields: Record<string, unknown> = {}): Promise<BatchResource> => {
    const body = { agent_id: tenant.agentId, requests: requestsOf(count), ...fields };
    const { id } = dataOf(await client.post<BatchResource>('/batches', body));
    return waitForBatchEnd(client, id, 120);
  };
  const measurement: Measurement = { service, model, hook, tenant, client, run };
  await run(1);
  let batch!: BatchResource;
  const manyRequests = await callsOf(
    service,
    async () => {
      batch = await run(70);
    },
    polls,
  );
  const works = await prepareWorks(measurement, batch);
  const measured: Partial<Record<OperationName, OperationCalls>> = {};
  for (const [name, work] of Object.entries(works) as [OperationName, () => Promise<unknown>][]) {
    if (name !== 'send-message, first of a chat') await work();
    measured[name] = await callsOf(service, work, name.startsWith('batch of') ? polls : undefined);
  }
  return {
    ...(measured as Record<keyof Works, OperationCalls>),
    'get-batch, open': await measureOpen(measurement),
    'cancel-batch': await measureCancel(measurement),
    'stop-reply': await measureStop(measurement),
    'batch of 70': manyRequests,
  };
}

/** Creates a chat with two turns, and returns one call of each operation. */
async function prepareWorks(
  { service, hook, tenant, client, run }: Measurement,
  batch: BatchResource,
): Promise<Works> {
  const stream = async (chatId: number) =>
    (await client.stream(chatId, { message: 'How are you?', agent_id: tenant.agentId, ...user })).all();
  const chatId = await createChat(client, tenant, user);
  await stream(chatId);
  await send(client, tenant, chatId, 'And now?', user);
  const history = `/chats/${chatId}/messages`;
  const [, reply] = dataOf(await client.get<{ id: number }[]>(`${history}?external_user_id=ada`));
  const resumable = { message: 'Once more?', agent_id: tenant.agentId, resumable: true, ...user };
  const [created] = (await (await client.stream(chatId, resumable)).all()) as StreamEvent[];
  const resumePath = `/chats/${chatId}/stream?external_user_id=ada&response_id=${created?.response_id}`;
  const openAi = openAiRequests(service, tenant);
  let fresh = chatId;
  /** For the deletion that is measured and the one before it. */
  const unused = [await createChat(client, tenant, user), await createChat(client, tenant, user)];
  const uploaded = async () =>
    dataOf(await uploaderOf(service, tenant).file('a.txt', 'Text')) as { uuid: string };
  const unusedFiles = [(await uploaded()).uuid, (await uploaded()).uuid];
  const other = await openTenant(service, { limits });
  /** Waits for the end of the first run of the purge. */
  const purged = async (deletion: () => Promise<unknown>): Promise<void> => {
    const runs = () =>
      service.run
        .dynamoCalls()
        .filter(({ functionName, target }) => functionName?.includes('PurgeChat') && target === 'UpdateItem');
    const before = runs().length;
    await deletion();
    await expect.poll(() => runs().length, { timeout: 30_000 }).toBe(before + 1);
  };
  return {
    ...readsOf({ chat_id: chatId, batch_id: batch.id, agent_id: tenant.agentId }, (path) => client.get(path)),
    'create-chat': async () => {
      fresh = await createChat(client, tenant, user);
    },
    'send-message, first of a chat': () => stream(fresh),
    'send-message, streamed': () => stream(chatId),
    'send-message, plain': () => send(client, tenant, chatId, 'And now?', user),
    'list-models': () => openAi.request('GET', '/models').then((response) => response.text()),
    'get-model': () => openAi.request('GET', `/models/${tenant.agentId}`).then((response) => response.text()),
    'complete-chat': () => openAi.stream({ message: 'How are you?', user: 'ada' }),
    'reject-openai-path': () => openAi.request('POST', '/embeddings').then((response) => response.text()),
    'resume-stream': async () => (await client.request('GET', resumePath)).text(),
    'list-chats': () => client.get(`/chats?limit=${pageLength}`),
    'get-chat': () => client.get(`/chats/${chatId}?external_user_id=ada`),
    'rename-chat': () => client.patch(`/chats/${chatId}`, { ...user, name: 'A chat' }),
    'delete-chat': () => purged(() => client.delete(`/chats/${unused.pop()}?external_user_id=ada`)),
    'erase-user': () => purged(() => other.client.delete('/users?external_user_id=unknown')),
    'list-messages': () => client.get(`${history}?limit=4&external_user_id=ada`),
    'upload-file': () => uploaderOf(service, tenant).file('a.txt', 'x'.repeat(1024 * 1024)),
    'delete-file': () => client.delete(`/chats/files/${unusedFiles.pop()}`),
    'record-feedback': () =>
      client.post(`${history}/${reply?.id}/feedbacks`, { ...user, type: 'sys_helpful' }),
    'list-batch-results': () => client.get(`/batches/${batch.id}/results?limit=${pageLength}`),
    'batch of 10': () => run(10),
    'batch of 30': () => run(30),
    'batch of 10, with a webhook': async () => {
      const called = hook.called(hook.calls.length + 1);
      await run(10, { webhook: { url: hook.url, secret: 'secret' } });
      await called;
    },
  };
}

/** Measures the route that returns a batch, while the last request of the batch is still running. */
async function measureOpen({ service, model, tenant, client }: Measurement): Promise<OperationCalls> {
  const pending = pendingCall(model, `Message ${pageLength - 1}`);
  const { id } = await submit(client, tenant, requestsOf(pageLength));
  const call = await pending;
  await waitForBatch(client, id, ({ completed_requests }) => completed_requests === pageLength - 1);
  const calls = await callsOf(service, () => client.get(`/batches/${id}`), /^(?!.*GetBatch)/);
  call.finish();
  await waitForBatchEnd(client, id);
  return calls;
}

/** Resolves with the model's call for a message, to which nothing responds. */
async function pendingCall(model: ScriptedModel, message: string): Promise<ModelCall> {
  const { onCall } = model;
  const pending = await callsByMessage(model)(message);
  model.onCall = onCall;
  return pending;
}

/**
 * Measures the route that cancels a batch while its only request is still running. Completing the task callback and
 * closing the batch are not counted: every batch has them.
 */
async function measureCancel({ service, model, tenant, client }: Measurement): Promise<OperationCalls> {
  const pending = pendingCall(model, 'Message 0');
  const { id } = await submit(client, tenant, requestsOf(1));
  const call = await pending;
  const cancelled = await callsOf(
    service,
    () => client.post(`/batches/${id}/cancel`, undefined),
    /^(?!.*CancelBatch)/,
  );
  call.finish();
  await waitForBatchEnd(client, id, 120);
  return cancelled;
}

/** Measures the route that stops a reply, while the model is silent. */
async function measureStop({ service, model, tenant, client }: Measurement): Promise<OperationCalls> {
  const pending = pendingCall(model, 'Wait');
  const chatId = await createChat(client, tenant, user);
  const sending = send(client, tenant, chatId, 'Wait', user);
  await pending;
  const stopped = await callsOf(
    service,
    () => client.post(`/chats/${chatId}/stop`, user),
    /^(?!.*StopReply)/,
  );
  await sending;
  return stopped;
}
