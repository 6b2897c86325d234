import { beforeEach, describe, expect, it } from 'vitest';
import { checkEnded, runBatch } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import type { ProxiedCall } from '#support/dynamo-proxy.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { replyWith } from '#support/model-server.ts';
import { rejection, useProxiedService } from '#support/proxied-service.ts';
import { seededRandom } from '#support/seeded-random.ts';
import { createTenant } from '#support/service.ts';
import { contentsOf, createChat, historyOf, send } from '#support/turns.ts';
import { filePart, form, uploaderOf } from '#support/upload.ts';

const seed = Number(process.env.SEED ?? Date.now() % 100_000);
const random = seededRandom(seed);

let rejects = false;

/** Rejects one call in five, but the same call at most four times, because a call has six attempts. */
const rejections = new Map<string, number>();
function rejectsCall({ functionName, body }: { functionName: string | undefined; body: unknown }): boolean {
  const call = JSON.stringify(body);
  const count = rejections.get(call) ?? 0;
  if (!rejects || functionName === undefined || count === 4 || random() >= 0.2) return false;
  rejections.set(call, count + 1);
  return true;
}
console.log(`SEED=${seed}`);
const {
  model,
  service,
  tenant: scripted,
  client: sending,
  proxy,
} = await useProxiedService({
  maxConcurrency: 3,
  faults: {
    transactionConflicts: true,
    throttling: true,
    reject: rejectsCall,
  },
});
const tenant = await createTenant({ titles: false });
const client = clientOf(service, tenant);

const totalOf = async (query: string): Promise<number | undefined> =>
  (await client.get(`/chats?limit=1${query}`)).body.pagination?.total_records;

it('holds conversations while one call in five is refused, and doubles nothing', async () => {
  rejects = true;
  const before = (await totalOf('')) ?? 0;
  const talk = async (name: string): Promise<number> => {
    const chatId = await createChat(client, tenant, { external_user_id: name });
    for (let turn = 1; turn <= 3; turn += 1) {
      const response = await send(client, tenant, chatId, `${name} ${turn}`, { external_user_id: name });
      expect(response.status, response.body.message ?? '').toBe(200);
    }
    const { status, body } = await client.get<{ role: string; content: string }[]>(
      `/chats/${chatId}/messages?external_user_id=${name}`,
    );
    expect(status).toBe(200);
    expect(body.pagination?.total_records).toBe(6);
    expect(body.data.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      `${name} 1`,
      `${name} 2`,
      `${name} 3`,
    ]);
    for (const { content } of body.data.filter(({ role }) => role === 'assistant'))
      expect(content).toContain('This is a demonstration');
    expect(await totalOf(`&external_user_id=${name}`)).toBe(1);
    return chatId;
  };
  const names = Array.from({ length: 5 }, (_, index) => `user-${index}`);
  const chatIds = await Promise.all(names.map(talk));
  expect(new Set(chatIds).size).toBe(names.length);
  expect(await totalOf('')).toBe(before + names.length);
  expect(await totalOf(`&agent_id=${tenant.agentId}`)).toBe(before + names.length);
  rejects = false;
});

/** DynamoDB carries out a call, but its response is lost, so the SDK repeats the call. */
describe('an answer lost on its way back', () => {
  const expressionOf = ({ body }: ProxiedCall): string => String(body.UpdateExpression ?? '');
  const keyOf = ({ body }: ProxiedCall): string => JSON.stringify(body.Item ?? body.Key ?? '');
  const loseOne = (isIt: (call: ProxiedCall) => boolean) => {
    let lost = 0;
    proxy.handle = async (call, pass) => {
      const response = await pass();
      if (lost > 0 || !isIt(call)) return response;
      lost += 1;
      return undefined;
    };
    return () => lost;
  };

  it.each<[string, (call: ProxiedCall) => boolean]>([
    ['taking the lease', (call) => expressionOf(call).startsWith('SET lease_id')],
    ['storing the user message', (call) => call.target === 'PutItem' && keyOf(call).includes('M#0000001')],
    ['storing the reply', (call) => call.target === 'PutItem' && keyOf(call).includes('M#0000002')],
    ['freeing the chat', (call) => expressionOf(call).includes('REMOVE #lease_id')],
  ])('of %s leaves one whole turn', async (_, isIt) => {
    const chatId = await createChat(client, tenant);
    const lost = loseOne(isIt);
    const response = await send(client, tenant, chatId, 'Hi');
    expect(lost()).toBe(1);
    expect(response.body).toMatchObject({ message: null, error_code: 0 });
    expect(response.body.data).toContain('This is a demonstration');
    const history = await historyOf(client, chatId);
    expect(contentsOf(history)).toEqual(['Hi', response.body.data]);
    expect(history[1]?.meta.error).toBeUndefined();
    expect((await send(client, tenant, chatId, 'And?')).status).toBe(200);
    expect(await historyOf(client, chatId)).toHaveLength(4);
  });

  it('of storing a reply that is too large for the table keeps its text', async () => {
    const chatId = await createChat(sending, scripted);
    const reply = 'large '.repeat(70_000);
    model.onCall = (call) => replyWith(call, reply);
    const lost = loseOne((call) => call.target === 'PutItem' && keyOf(call).includes('M#0000002'));
    const response = await send(sending, scripted, chatId, 'Much, please');
    expect(lost()).toBe(1);
    expect(response.body.data).toBe(reply);
    expect(contentsOf(await historyOf(sending, chatId))).toEqual(['Much, please', reply]);
  });

  it('of creating a chat leaves one chat', async () => {
    const before = (await totalOf('')) ?? 0;
    const lost = loseOne((call) => call.target === 'TransactWriteItems');
    const chatId = await createChat(client, tenant);
    expect(lost()).toBe(1);
    expect(await totalOf('')).toBe(before + 1);
    expect((await send(client, tenant, chatId, 'Hi')).status).toBe(200);
  });
});

describe('a model that answers before the user message is stored', () => {
  const isUserMessage = ({ target, body }: ProxiedCall): boolean =>
    target === 'PutItem' && JSON.stringify(body.Item).includes('M#0000001');

  it.each([true, false])('is not heard before, with stream %s', async (stream) => {
    const chatId = await createChat(sending, scripted);
    const [stored, received] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    proxy.handle = async (call, pass) => {
      if (isUserMessage(call)) await stored.promise;
      return pass();
    };
    model.onCall = (call) => {
      replyWith(call, 'Early');
      received.resolve();
    };
    let responded = false;
    const path = `/chats/${chatId}/messages`;
    const body = { message: 'Hi', agent_id: scripted.agentId, stream };
    const responding = sending.request('POST', path, { body });
    void responding.then(() => {
      responded = true;
    });
    await received.promise;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(responded).toBe(false);
    stored.resolve();
    const response = await responding;
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Early');
    expect(contentsOf(await historyOf(sending, chatId))).toEqual(['Hi', 'Early']);
  });

  it('is given up when it cannot be stored: nothing was said, and the chat is free', async () => {
    const chatId = await createChat(sending, scripted);
    const received = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    proxy.handle = async (call, pass) => {
      if (!isUserMessage(call)) return pass();
      await received.promise;
      return rejection;
    };
    model.onCall = (call) => {
      call.chunk('In vain');
      void call.gone.then(gone.resolve);
      received.resolve();
    };
    const response = await send(sending, scripted, chatId, 'Hi');
    expect(response).toMatchObject({ status: 500, body: { data: null, error_code: 10005 } });
    await gone.promise;
    expect(await historyOf(sending, chatId)).toEqual([]);

    proxy.handle = (_, pass) => pass();
    model.onCall = (call) => replyWith(call, 'Better');
    expect((await send(sending, scripted, chatId, 'Again')).status).toBe(200);
    expect(contentsOf(await historyOf(sending, chatId))).toEqual(['Again', 'Better']);
  });
});

describe('a reply that the table will never take', () => {
  const isReply = ({ target, body }: ProxiedCall): boolean =>
    target === 'PutItem' && JSON.stringify(body.Item ?? '').includes('M#0000002');
  const reason = 'The reply could not be stored';
  beforeEach(() => {
    model.calls.length = 0;
    model.onCall = (call) => replyWith(call, 'Hello');
    proxy.handle = async (call, pass) => (isReply(call) ? rejection : pass());
  });

  it('ends as a failed one with the reason, and the chat goes on at once', async () => {
    const chatId = await createChat(sending, scripted);
    const events = await (await sending.stream(chatId, { message: 'Hi', agent_id: scripted.agentId })).all();
    expect(events.slice(-2)).toMatchObject([
      { type: 'response.error', code: 10005, message: reason },
      '[DONE]',
    ]);
    const history = await historyOf(sending, chatId);
    expect(contentsOf(history)).toEqual(['Hi', '']);
    expect(history[1]?.meta.error).toEqual({ code: 10005, message: reason });
    proxy.handle = (_, pass) => pass();
    expect((await send(sending, scripted, chatId, 'Again')).status).toBe(200);
  });

  it('fails its request of a batch after one call of the model', async () => {
    const requests = [{ custom_id: 'one', message: 'Hi' }];
    const batch = await runBatch(sending, scripted, requests);
    const [result] = await checkEnded(sending, batch, requests);
    expect(result).toMatchObject({ status: 'failed', error_code: 500, error_message: reason });
    expect(model.calls).toHaveLength(1);
    const history = await historyOf(sending, result?.history_id ?? 0);
    expect(history[1]?.meta.error).toEqual({ code: 10005, message: reason });
  });
});

it.each([
  ['the distribution', () => service.baseUrl],
  ['the gateway itself', () => `${service.run.endpoints.gateway}/v1`],
])(
  'leaves nothing of an upload in the bucket that the table does not take, through %s',
  async (_door, addressOf) => {
    const own = await createTenant();
    let rejected = 0;
    proxy.handle = async ({ target }, pass) => {
      if (target !== 'PutItem') return pass();
      rejected += 1;
      return rejection;
    };
    const { status, body } = await uploaderOf({ baseUrl: addressOf() }, own).raw(
      form(filePart('a.txt', 'x')),
    );
    expect({ status, code: body.error_code, rejected }).toEqual({ status: 500, code: 10005, rejected: 1 });
    expect(await fileBucketOf(service).keysOf(own.workspaceId)).toEqual({ objects: [], uploads: [] });
  },
);
