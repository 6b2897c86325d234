import { expect, it, vi } from 'vitest';
import { agentDefinition } from '#contract/agent.ts';
import { publishAgent, updateAgent } from '#domain/agents/agents.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startDynamoProxy } from '#support/dynamo-proxy.ts';
import { functionIds, isReplier } from '#support/entry-points.ts';
import { replyWith } from '#support/model-server.ts';
import { untilQuiet } from '#support/operation-calls.ts';
import { createPublishedAgent, operator, setLimits } from '#support/service.ts';
import { createChat, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const proxy = closeAfterTests(await startDynamoProxy());
const { model, callFor, service, tenant, client } = await useScriptedService(
  { variables: { AWS_ENDPOINT_URL_DYNAMODB: proxy.url }, recordCalls: true, maxConcurrency: 1 },
  { limits: {} },
);
proxy.emulator = service.run.endpoints.dynamodb;

/** The recorded calls of functions that reply, from this number on, and their units. */
const callsFrom = (first: number) =>
  service.run
    .dynamoCalls()
    .slice(first)
    .filter(({ functionName }) => isReplier(functionName));
const sumOf = (calls: ReturnType<typeof callsFrom>, kind: 'readUnits' | 'writeUnits') =>
  calls.reduce((sum, { consumed }) => sum + consumed[kind], 0);

/**
 * The service's own part of a turn with warm functions, without a title, with texts under 1 KB. There are two round
 * trips before the model is called, and each may reject the send: (1) one read of workspace and published agent,
 * concurrently with the key's rate limit; (2) the chat lease, which also finds the chat, concurrently with the query of
 * the history, unless it is cached. The user message is stored concurrently with the model's call, and before the client gets an event.
 * There are six write units: rate limit, lease, user message, reply, release of the lease, and usage. Each renewal,
 * every third of the lease's time, adds one.
 */
it.each([
  ['a cached history', []],
  ['another history', ['2 Query']],
])(
  'with %s, a turn takes two round trips before the model is called and six write units',
  async (_which, reads) => {
    proxy.handle = (_call, pass) => pass();
    const chatId = await createChat(client, tenant);
    const body = (message: string) => ({ message, agent_id: tenant.agentId });
    await (await client.stream(chatId, body('warm'))).all();
    if (reads.length > 0) {
      service.run.killWorkers(functionIds['send-message']);
      await (await client.stream(await createChat(client, tenant), body('warm'))).all();
    }

    // The last writes of a turn may end after its client has read the end.
    await untilQuiet(service.run);
    // The depth of a call is the number of sequential round trips it may have waited for: one more than the deepest call
    // that had ended when it started.
    let deepest = 0;
    const chain: { target: string; depth: number }[] = [];
    let itemsRead = 0;
    proxy.handle = async (call, pass) => {
      if (!isReplier(call.functionName)) return pass();
      const depth = deepest + 1;
      chain.push({ target: call.target, depth });
      const requestItems = call.body.RequestItems as Record<string, { Keys: unknown[] }> | undefined;
      for (const { Keys } of Object.values(requestItems ?? {})) itemsRead += Keys.length;
      const response = await pass();
      // By now, all calls that were sent concurrently have arrived.
      await new Promise((resolve) => setTimeout(resolve, 30));
      deepest = Math.max(deepest, depth);
      return response;
    };
    const recorded = service.run.dynamoCalls().length;
    const called = callFor('How long does it take?');
    const events = stepThrough(await client.stream(chatId, body('How long does it take?')));
    const call = await called;
    await vi.waitFor(() => expect(chain.map(({ target }) => target)).toContain('PutItem'), 60_000);
    const before = chain.length;
    expect(chain.map(({ target, depth }) => `${depth} ${target}`).sort()).toEqual([
      '1 BatchGetItem',
      '1 UpdateItem',
      ...reads,
      '2 UpdateItem',
      '3 PutItem',
    ]);
    // Without an Idempotency-Key, no idempotency record is read.
    expect(itemsRead).toBe(2);
    replyWith(call, 'x'.repeat(500));
    expect((await events.rest()).at(-1)).toBe('[DONE]');
    await untilQuiet(service.run);
    expect(chain.slice(before).map(({ target, depth }) => `${depth - 3} ${target}`)).toEqual([
      '1 PutItem',
      '2 UpdateItem',
      '2 UpdateItem',
    ]);

    const own = callsFrom(recorded);
    const units = (kind: 'readUnits' | 'writeUnits') => sumOf(own, kind);
    console.log(
      `a turn: ${own.map(({ target }) => target).join(', ')}; ` +
        `${units('writeUnits')} write units, ${units('readUnits')} read units`,
    );
    expect(deepest).toBeLessThanOrEqual(5);
    expect(units('writeUnits')).toBe(6);
  },
);

it('reads a large agent once, and then only which version is published', async () => {
  const large = { llm_model: 'openai:test', meta: { notes: 'x'.repeat(340_000) } };
  const agentId = await createPublishedAgent(tenant.workspaceId, large);
  const chatId = await createChat(client, { ...tenant, agentId });
  const readsOf = async (message: string): Promise<number> => {
    await untilQuiet(service.run);
    const recorded = service.run.dynamoCalls().length;
    void callFor(message).then((call) => replyWith(call, 'Yes'));
    await (await client.stream(chatId, { message, agent_id: agentId })).all();
    await untilQuiet(service.run);
    return sumOf(callsFrom(recorded), 'readUnits');
  };
  expect(await readsOf('Cold?')).toBeGreaterThan(80);
  expect(await readsOf('Warm?')).toBeLessThanOrEqual(6);
  // A new version applies to the next send.
  const definition = agentDefinition.parse({ ...large, name: 'Changed', llm_model: 'openai:other' });
  await updateAgent(operator(), { agentId, definition });
  await publishAgent(operator(), agentId);
  expect(await readsOf('New?')).toBeGreaterThan(80);
  expect(model.calls.at(-1)?.body).toMatchObject({ model: 'other' });
});

it('writes nothing but the rate limit until that has let the send in, and nothing at all when it does not', async () => {
  await setLimits(tenant.workspaceId, { sends: '1/h:2' });
  const chatId = await createChat(client, tenant);
  const body = { message: 'Hello', agent_id: tenant.agentId, stream: false };
  const path = `/chats/${chatId}/messages`;
  const limitChecked = Promise.withResolvers<void>();
  const seen: string[] = [];
  proxy.handle = async ({ target, functionName, body: { Key } }, pass) => {
    if (!isReplier(functionName)) return pass();
    const isBucket = JSON.stringify(Key ?? '').includes('#RATE#');
    seen.push(isBucket ? 'bucket' : target);
    const response = await pass();
    if (isBucket) await limitChecked.promise;
    return response;
  };
  const sent = client.post(path, body);
  const received = callFor('Hello');
  await vi.waitFor(() => expect(seen.toSorted()).toEqual(['BatchGetItem', 'bucket']), 60_000);
  // By now, a call that did not wait for the rate limit would have arrived.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(seen).toHaveLength(2);
  limitChecked.resolve();
  replyWith(await received, 'Hi');
  expect((await sent).status).toBe(200);

  proxy.handle = (_call, pass) => pass();
  const last = callFor('Hello');
  const second = client.post(path, body);
  (await last).finish();
  expect((await second).headers.get('x-ratelimit-remaining')).toBe('0');
  await untilQuiet(service.run);
  const before = service.run.dynamoCalls().length;
  expect((await client.post(path, body)).status).toBe(429);
  await untilQuiet(service.run);
  expect(callsFrom(before)).toEqual([]);
});
