import { describe, expect, it } from 'vitest';
import { requestsOf, resultsOfBatch } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type ModelCall, replyWith, type ScriptedModel } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { startScriptedBedrock } from '#support/scripted-bedrock.ts';
import { replyIn, says, scriptCalls } from '#support/scripted-steps.ts';
import { createPublishedAgent } from '#support/service.ts';
import { modelsUsedIn } from '#support/usage-today.ts';
import { useScriptedService } from '#support/use-service.ts';

const llm_model = 'bedrock:eu.amazon.nova-lite-v1:0';

const bedrock = closeAfterTests(await startScriptedBedrock());
const {
  model: openai,
  service,
  tenant,
  client,
} = await useScriptedService({ variables: { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.url } });

describe('an agent with a model of Bedrock', () => {
  it('is asked as its agent says: profile, system prompt, bounds, signed for the role', async () => {
    const agentId = await createPublishedAgent(tenant.workspaceId, {
      llm_model,
      system_prompt: 'Be brief.',
      meta: { temperature: 0.2, max_output_tokens: 64 },
    });
    const calls = scriptCalls(bedrock, says('Yes.'));
    const { events, meta } = await replyIn(client, agentId, 'Well?');
    expect(events.at(-2)).toMatchObject({ final_text: 'Yes.', usage: { total_tokens: 18, total_calls: 1 } });
    expect(meta).toMatchObject({ token_usage: { total_prompt_tokens: 11, total_completion_tokens: 7 } });
    expect(calls[0]?.request).toMatchObject({
      model: 'eu.amazon.nova-lite-v1:0',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Well?' },
      ],
    });
    expect(calls[0]?.body).toMatchObject({ inferenceConfig: { maxTokens: 64, temperature: 0.2 } });
    expect(calls[0]?.headers).toMatchObject({
      'x-amz-security-token': expect.any(String),
      authorization: expect.stringContaining('/bedrock/aws4_request'),
    });
  });

  it('makes titles, with a call that is not streamed', async () => {
    const { client: titled, agentId } = await openTenant(service, { model: llm_model });
    bedrock.onPlainCall = says('All about fish');
    scriptCalls(bedrock, says('Fish swim.'));
    const { events } = await replyIn(titled, agentId, 'Fish?');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'response.chat.title.updated', name: 'All about fish' }),
    );
  });
});

/** The bodies of the model's calls, by their last message. */
function bodiesOf(model: ScriptedModel): Map<string, unknown> {
  const bodies = new Map<string, unknown>();
  const respond = (call: ModelCall) => {
    bodies.set(call.request.messages.at(-1)?.content ?? '', call.body);
    replyWith(call, 'Yes.', { prompt_tokens: 100, completion_tokens: 2, cached: 64 });
  };
  Object.assign(model, { onCall: respond, onPlainCall: respond });
  return bodies;
}

const meta = { reasoning_effort: 'high', service_tier: 'priority', batch_service_tier: 'flex' } as const;
const cached = { promptTokens: 100, completionTokens: 2, cachedTokens: 64, writtenTokens: 0 };

describe('effort and service tier', () => {
  it("reach OpenAI's models, and a tier has its own usage", async () => {
    const bodies = bodiesOf(openai);
    const tenant = await openTenant(service, { model: 'openai:test', titles: false, agent: { meta } });
    const chat = await tenant.createChat({ name: 'Named' });
    expect((await tenant.send(chat, { message: 'In a chat' })).status).toBe(200);
    expect(bodies.get('In a chat')).toMatchObject({ reasoning_effort: 'high', service_tier: 'priority' });

    const requests = requestsOf(1, () => ({ message: 'In a batch' }));
    const [result] = await resultsOfBatch(tenant.client, tenant, requests);
    expect(bodies.get('In a batch')).toMatchObject({ reasoning_effort: 'high', service_tier: 'flex' });
    expect(result?.response_usage).toMatchObject({
      cached_prompt_tokens: 64,
      main_response: { model: 'openai:test#flex', prompt_tokens: 100, cached_prompt_tokens: 64 },
    });
    await expect
      .poll(() => modelsUsedIn(tenant.workspaceId))
      .toEqual({
        'openai:test#priority': { calls: 1, ...cached },
        'openai:test#flex': { calls: 1, ...cached },
      });
  });

  it('reach Claude on Bedrock, whose thoughts are added to the bound of the output', async () => {
    const bodies = bodiesOf(bedrock);
    const tenant = await openTenant(service, {
      model: 'bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
      titles: false,
      agent: { meta: { ...meta, max_output_tokens: 1000 } },
    });
    const chat = await tenant.createChat({ name: 'Named' });
    expect((await tenant.send(chat, { message: 'Think' })).status).toBe(200);
    expect(bodies.get('Think')).toMatchObject({
      serviceTier: { type: 'priority' },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 38_400 } },
      inferenceConfig: { maxTokens: 39_400 },
    });
  });

  it("the door's effort replaces that of an agent that has one", async () => {
    const bodies = bodiesOf(openai);
    const options = { model: 'openai:test', openai: true, agent: { meta } };
    const door = openAiRequests(service, await openTenant(service, options));
    const { usage: used } = await door.complete({ message: 'Low', reasoning_effort: 'low' });
    expect(bodies.get('Low')).toMatchObject({ reasoning_effort: 'low', service_tier: 'priority' });
    expect(used).toEqual({
      ...{ prompt_tokens: 100, completion_tokens: 2, total_tokens: 102 },
      prompt_tokens_details: { cached_tokens: 64 },
    });
    expect(await door.rejection({ reasoning_effort: 'much' })).toMatchObject({ param: 'reasoning_effort' });
  });
});

it('counts the call for a title, which is not part of the usage of the reply', async () => {
  bodiesOf(openai);
  const tenant = await openTenant(service, { model: 'openai:test' });
  expect((await tenant.send(await tenant.createChat(), { message: 'Hello' })).status).toBe(200);
  const both = { calls: 2, promptTokens: 200, completionTokens: 4, cachedTokens: 128, writtenTokens: 0 };
  await expect.poll(() => modelsUsedIn(tenant.workspaceId)).toEqual({ 'openai:test': both });
});
