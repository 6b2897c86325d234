import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import { checkAgent } from '#runtime/composition/check-agent.ts';
import { usage } from '#runtime/composition/services.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import type { ModelCall } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import { startScriptedBedrock } from '#support/scripted-bedrock.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { useService } from '#support/use-service.ts';

const openai = closeAfterTests(await startScriptedModel());
const bedrock = closeAfterTests(await startScriptedBedrock());
const service = await useService({
  variables: { OPENAI_BASE_URL: openai.url, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.url },
});
const today = new Date().toISOString().slice(0, 10);
const fallback = 'bedrock:eu.amazon.nova-lite-v1:0';

/** Each test has a model of its own, because a model that has failed is not called for ten seconds. */
let models = 0;

/** A send to an agent whose first model behaves so, and whose fallback model responds. */
async function send(first: (call: ModelCall) => void) {
  models += 1;
  const name = `openai:gpt-5-mini-${models}`;
  const tenant = await openTenant(service, {
    ...{ model: name, titles: false },
    agent: { meta: { fallback_models: [fallback] } },
  });
  const called: string[] = [];
  openai.onCall = (call) => {
    called.push('first');
    first(call);
  };
  bedrock.onCall = (call) => {
    called.push('fallback');
    call.chunk('Here I am');
    call.finish();
  };
  const chat = await tenant.createChat({ name: 'Named' });
  const body = { message: 'Hello', agent_id: tenant.agentId };
  const retry = async () => (await (await tenant.client.stream(chat.id, body)).all()) as StreamEvent[];
  const events = await retry();
  const used = async () => {
    const days = (await Array.fromAsync(usage().between(tenant.workspaceId, today, today))).flat();
    return Object.fromEntries(
      days.flatMap(({ models }) => Object.entries(models)).map(([key, { calls }]) => [key, calls]),
    );
  };
  return { events, called, retry, used, name };
}

describe('a model that is busy or unavailable before its first output', () => {
  it.each<[string, (call: ModelCall) => void]>([
    ['429', (call) => call.fail(429)],
    ['503', (call) => call.fail(503)],
    ['a reset', (call) => call.reset()],
    ['an error part first', (call) => call.failInStream('overloaded')],
  ])('is replaced by the next one after two attempts: %s', async (_, fails) => {
    const { events, called, used } = await send(fails);
    expect(called).toEqual(['first', 'first', 'fallback']);
    expect(events.at(-2)).toMatchObject({
      ...{ type: 'response.output_text.completed', final_text: 'Here I am', model: fallback },
      usage: { total_calls: 1 },
    });
    await expect.poll(used).toEqual({ [fallback]: 1 });
  });

  it('is not called again for ten seconds', async () => {
    const { called, retry } = await send((call) => call.fail(503));
    expect((await retry()).at(-2)).toMatchObject({ model: fallback });
    expect(called).toEqual(['first', 'first', 'fallback', 'fallback']);
  });
});

describe('a model that fails otherwise is not replaced:', () => {
  it.each<[string, (call: ModelCall) => void]>([
    ['a wrong request', (call) => call.fail(400)],
    ['a wrong key', (call) => call.fail(401)],
    ['a model that is gone', (call) => call.fail(404)],
    [
      'a cut in the middle',
      (call) => {
        call.chunk('Here');
        call.end();
      },
    ],
    ['a filter', (call) => call.cut('content_filter')],
  ])('%s', async (_, fails) => {
    const { events, called } = await send(fails);
    expect(called).toEqual(['first']);
    expect(events.some(({ type }) => type === 'response.error')).toBe(true);
  });
});

it('the event has no model if that of the agent has replied', async () => {
  const { events, used, name } = await send((call) => {
    call.chunk('Hello');
    call.finish();
  });
  expect(events.at(-2)).not.toHaveProperty('model');
  await expect.poll(used).toEqual({ [name]: 1 });
});

it('is refused at publish if it is unknown, repeated, or lacks images', async () => {
  const { workspaceId } = await openTenant(service, { titles: false });
  const { mistakes } = await checkAgent(workspaceId, {
    ...{ name: 'Guide', llm_model: 'openai:gpt-5-mini' },
    meta: { fallback_models: ['other:x', 'openai:gpt-5-mini', 'openai:own'] },
  });
  expect(mistakes).toEqual([
    expect.stringContaining('meta.fallback_models[0] names the unknown provider other'),
    'meta.fallback_models[1] is the same model again',
    expect.stringContaining('meta.fallback_models[2] accepts no images'),
  ]);
});
