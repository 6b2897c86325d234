import { beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import { checkAgent } from '#runtime/composition/check-agent.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { requestsOf, submit, waitForBatchEnd } from '#support/batches.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { type ModelCall, replyWith } from '#support/model-server.ts';
import { type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { useService } from '#support/use-service.ts';
import { endpointKeys } from '../../bin/local/stage-settings.ts';
import { synthesize } from '../../bin/local/synthesize.ts';
import { useLocalResources } from '../../bin/operator.ts';

const plain = closeAfterTests(await startScriptedModel());
const azure = closeAfterTests(await startScriptedModel());
const groq = closeAfterTests(await startScriptedModel());
const servers = { plain, azure, groq };

const assembly = await temporaryFolder('service-assembly-');
await synthesize(assembly, {
  openAiBaseUrl: plain.url,
  openAiEndpoints: {
    azure: { url: `${azure.url}/` },
    groq: { url: groq.url },
    noKey2: { url: groq.url },
  },
});
const service = await useService({
  assembly,
  secretValues: {
    OpenAiApiKey: 'the plain key',
    ...endpointKeys({
      OPENAI_API_KEY_azure: 'the key of azure',
      OPENAI_API_KEY_groq: 'the key of groq',
      OPENAI_API_KEY_unknown: 'the key of nobody',
    }),
  },
});
const { OpenAiEndpoints = '' } = service.run.outputs;
useLocalResources({ openai_endpoints: OpenAiEndpoints });

const respond = (call: ModelCall): void => replyWith(call, `Hello from ${call.request.model}`);

/** Each test has a model of its own, because a model that has failed is not called for ten seconds. */
let tests = 0;
let model: string;
beforeEach(() => {
  tests += 1;
  model = `llama-${tests}`;
  for (const server of Object.values(servers)) {
    server.onCall = respond;
    server.calls.length = 0;
    server.plainCalls.length = 0;
  }
});

/** The model and the key of each call that each server got in this test. */
const received = () =>
  Object.fromEntries(
    Object.entries(servers).map(([name, { calls, plainCalls }]) => [
      name,
      [...calls, ...plainCalls].map(({ request, headers }) => `${request.model} ${headers.authorization}`),
    ]),
  );
const nothing = { plain: [], azure: [], groq: [] };

const openAgent = (llmModel: string, fallbacks?: string[]) =>
  openTenant(service, {
    ...{ model: llmModel, titles: false, openai: true },
    ...(fallbacks && { agent: { meta: { fallback_models: fallbacks } } }),
  });

async function send(tenant: OpenTenant): Promise<StreamEvent[]> {
  const chat = await tenant.createChat();
  const body = { message: 'Hello', agent_id: tenant.agentId };
  return (await (await tenant.client.stream(chat.id, body)).all()) as StreamEvent[];
}

it('each endpoint gets its models with its own key, and no other', async () => {
  for (const name of ['openai@azure', 'openai@groq', 'openai'])
    expect((await send(await openAgent(`${name}:${model}:${name}`))).at(-2)).toMatchObject({
      final_text: `Hello from ${model}:${name}`,
    });
  expect(received()).toEqual({
    azure: [`${model}:openai@azure Bearer the key of azure`],
    groq: [`${model}:openai@groq Bearer the key of groq`],
    plain: [`${model}:openai Bearer the plain key`],
  });
  // Without a key of its own, it gets a random one.
  await send(await openAgent(`openai@noKey2:${model}`));
  expect(received().groq?.[1]).not.toContain('the ');
});

it('so do titles, batches and completions', async () => {
  const tenant = await openTenant(service, { model: `openai@groq:${model}`, openai: true });
  const { id } = await submit(tenant.client, tenant, requestsOf(1));
  expect(await waitForBatchEnd(tenant.client, id)).toMatchObject({ completed_requests: 1 });
  await openAiRequests(service, tenant).complete();
  const chat = await tenant.createChat({ name: 'New Chat' });
  expect(summaryOf(await tenant.send(chat))).toBe('200/0 success');
  await expect.poll(() => groq.plainCalls.length).toBeGreaterThan(0);
  expect({ ...received(), groq: new Set(received().groq) }).toEqual({
    ...nothing,
    groq: new Set([`${model} Bearer the key of groq`]),
  });
  expect(groq.calls).toHaveLength(3);
});

it('a redirect to the host of another endpoint is not followed', async () => {
  azure.onCall = (call) => call.fail(308, { location: `${groq.url}/chat/completions` });
  const events = await send(await openAgent(`openai@azure:${model}`));
  expect(events.some(({ type }) => type === 'response.error')).toBe(true);
  expect(received()).toEqual({ ...nothing, azure: [`${model} Bearer the key of azure`] });
});

it('a failure makes the same model of another endpoint the fallback, with its own key', async () => {
  azure.onCall = (call) => call.fail(503);
  const tenant = await openAgent(`openai@azure:${model}`, [`openai@groq:${model}`]);
  expect((await send(tenant)).at(-2)).toMatchObject({ model: `openai@groq:${model}` });
  expect(received()).toEqual({
    ...nothing,
    azure: Array(2).fill(`${model} Bearer the key of azure`),
    groq: [`${model} Bearer the key of groq`],
  });
});

describe('an agent', async () => {
  const { workspaceId } = await openTenant(service, { titles: false });
  const known = 'known are demo, bedrock, openai, openai@azure, openai@groq, openai@noKey2';
  const unknownFallback =
    'meta.fallback_models[0] must be PROVIDER, PROVIDER:MODEL or openai@NAME:MODEL, such as openai:gpt-5-mini';
  const groq = 'openai@groq:own';
  const withoutTools = 'bedrock:amazon.titan-text-express-v1';
  it.each<[llm_model: string, fallback_models: string[], mistakes: string[], fields?: object]>([
    ['openai@azure:own', [groq, 'openai:own'], []],
    [
      'openai@mistral:own',
      ['openai@Groq:own', 'openai@toString:own'],
      [unknownFallback, `llm_model names the unknown provider openai@mistral; ${known}`],
    ],
    [
      'demo',
      ['openai@toString:own', 'bedrock@azure:own'],
      [
        `meta.fallback_models[0] names the unknown provider openai@toString; ${known}`,
        `meta.fallback_models[1] names the unknown provider bedrock@azure; ${known}`,
      ],
    ],
    ['openai:own', ['openai:own'], ['meta.fallback_models[0] is the same model again']],
    ['openai@azure', [], ['llm_model names no model: it must be openai@azure:MODEL']],
    [
      'openai:gpt-5-mini',
      [groq],
      [
        'meta.fallback_models[0] accepts no images, and openai:gpt-5-mini does: set meta.vision, or name another model',
      ],
    ],
    [
      groq,
      [withoutTools],
      ['meta.fallback_models[0] accepts no tools, and the agent has some: name another model'],
      { unified_tools: [{ type: 'consultant_fetch_web_content', config: {} }] },
    ],
    [
      groq,
      [withoutTools],
      ['meta.fallback_models[0] accepts no output_schema, and the agent has one: name another model'],
      { output_schema: { type: 'integer' } },
    ],
  ])(
    'with the model %s and the fallback models %j has the mistakes %j',
    async (llm_model, fallback_models, mistakes, fields = {}) => {
      const input = { name: 'Guide', llm_model, meta: { fallback_models }, ...fields };
      expect((await checkAgent(workspaceId, input)).mistakes).toEqual(mistakes);
    },
  );

  it('is not published again if the stage has lost an endpoint meanwhile', async () => {
    const before = agentctlOf(service);
    const { azure: _, ...others } = JSON.parse(OpenAiEndpoints);
    const after = agentctlOf(service, [], service.baseUrl, JSON.stringify(others));
    const gone = {
      own: { llm_model: 'openai@azure:own' },
      fallback: { llm_model: 'openai@groq:own', meta: { fallback_models: ['openai@azure:own'] } },
    };
    for (const [where, definition] of Object.entries(gone)) {
      const { id } = await before.createAgent(workspaceId, { name: 'Guide', ...definition });
      await before.json('agents', 'publish', id);
      await before.json('agents', 'publish', id);
      const field = where === 'own' ? 'llm_model' : 'meta.fallback_models[0]';
      const problem = `${field} names the unknown provider openai@azure; known are demo, bedrock, openai, openai@groq, openai@noKey2\n`;
      expect((await after.run('agents', 'publish', id)).stderr).toBe(`agent ${id}: ${problem}`);
      const rollback = ['agents', 'rollback', id, '--to', '1'];
      expect((await after.run(...rollback)).stderr).toBe(`agent ${id}, version 1: ${problem}`);
      expect(await before.json(...rollback)).toMatchObject({ version_number: 3 });
    }
  });
});
