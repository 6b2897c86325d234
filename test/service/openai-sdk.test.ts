import OpenAI from 'openai';
import { LengthFinishReasonError } from 'openai/error';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { webFunctions } from '#support/entry-points.ts';
import { openTenant } from '#support/open-tenant.ts';
import { createPublishedAgent } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';

const { callFor, model, service, tenant } = await useScriptedService(undefined, { openai: true });

const clientOf = (apiKey: string, options: ConstructorParameters<typeof OpenAI>[0] = {}) =>
  new OpenAI({ apiKey, baseURL: `${service.baseUrl}/openai`, ...options });
const client = clientOf(tenant.apiKey);
const requestOf = (content: string) => ({
  model: tenant.agentId,
  messages: [{ role: 'user' as const, content }],
});

/** What the client throws. */
const errorOf = async (work: PromiseLike<unknown>) => {
  try {
    await work;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error;
    throw error;
  }
  throw new Error('It succeeded');
};

describe('OpenAI’s client for Node.js', () => {
  it('puts a stream with steps together', async () => {
    const agent = await createPublishedAgent(tenant.workspaceId, {
      unified_tools: [{ type: 'consultant_call_agent', config: { agent_id: tenant.agentId } }],
    });
    const runner = client.chat.completions.stream({
      ...requestOf('Please use consultant_call_agent {"message": "Help"}'),
      model: agent,
    });
    const steps: unknown[] = [];
    runner.on('chunk', (chunk) =>
      steps.push(...(('agent_steps' in chunk && (chunk.agent_steps as [])) || [])),
    );
    const { choices } = await runner.finalChatCompletion();
    expect(steps).toHaveLength(2);
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(choices[0]?.message.content).toMatch(/./);
  });

  it('raises a wrong key, an unknown model and a rejected parameter as its own errors', async () => {
    const wrongKey = clientOf('ak_wrong').models.list();
    expect(await errorOf(wrongKey)).toMatchObject({ status: 401, code: 'invalid_api_key' });
    await expect(clientOf('ak_wrong').models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    const unknown = { ...requestOf('Hi'), model: 'gpt-5' };
    await expect(client.chat.completions.create(unknown)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    const two = await errorOf(client.chat.completions.create({ ...requestOf('Hi'), n: 2 }));
    expect(two).toMatchObject({ status: 400, param: 'n', type: 'invalid_request_error' });
  });

  it('overcomes the rate limit by its own retry', async () => {
    const limited = await openTenant(service, { openai: true, limits: { sends: '20/m:1' } });
    const statuses: number[] = [];
    const retrying = clientOf(limited.apiKey, {
      fetch: async (...given) => {
        const response = await fetch(...given);
        statuses.push(response.status);
        return response;
      },
    });
    const send = () => retrying.chat.completions.create({ ...requestOf('Hi'), model: limited.agentId });
    await Promise.all([send(), send()]);
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    const impatient = clientOf(limited.apiKey, { maxRetries: 0 });
    const attempts = await Promise.allSettled(
      [1, 2, 3].map(() => impatient.chat.completions.create({ ...requestOf('Hi'), model: limited.agentId })),
    );
    const reasons = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason] : []));
    expect(reasons.length).toBeGreaterThan(0);
    for (const reason of reasons) expect(reason).toBeInstanceOf(OpenAI.RateLimitError);
  });

  it('raises an error in mid-stream', async () => {
    void callFor('Break').then((call) => {
      call.chunk('Half');
      call.failInStream('server error');
    });
    const stream = await client.chat.completions.create({ ...requestOf('Break'), stream: true });
    let text = '';
    const read = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    };
    expect(await errorOf(read())).toMatchObject({
      type: 'server_error',
      message: expect.stringContaining('The model cannot be reached'),
    });
    expect(text).toBe('Half');
  });

  it.runIf(webFunctions === 'all')('stops a reply that it no longer reads', async () => {
    const called = callFor('Leave');
    const stream = client.chat.completions.create({ ...requestOf('Leave'), stream: true });
    const call = await Promise.race([called, stream.then(() => called)]);
    call.chunk('Half');
    (await stream).controller.abort();
    await call.gone;
  });
});

describe('OpenAI’s client for Node.js, with a form', () => {
  const person = z.object({ name: z.string(), age: z.int() });
  const ann = '{"name": "Ann", "age": 7}';
  let requests = 0;
  const { completions } = clientOf(tenant.apiKey, {
    fetch: (...given) => {
      requests += 1;
      return fetch(...given);
    },
  }).chat;
  const formed = (content: string) => ({
    ...requestOf(content),
    response_format: zodResponseFormat(person, 'person'),
  });
  const ways = {
    parse: (content: string) => completions.parse(formed(content)),
    stream: (content: string) => completions.stream(formed(content)).finalChatCompletion(),
  };
  const names = ['parse', 'stream'] as const;

  const say = (content: string, text: string) =>
    void callFor(content).then((call) => {
      call.chunk(text);
      call.finish();
    });

  it.each(names)('returns an object of the schema from %s', async (name) => {
    say('Who?', ann);
    const { choices } = await ways[name]('Who?');
    expect(choices[0]?.message.parsed).toEqual({ name: 'Ann', age: 7 });
  });

  it.each([{ type: 'function' as const, function: { name: 'person' } }, 'required' as const])(
    'returns the arguments of a tool that is forced by %j',
    async (tool_choice) => {
      say('Call', ann);
      const tools = [zodFunction({ name: 'person', parameters: person })];
      const { choices } = await completions.parse({ ...requestOf('Call'), tools, tool_choice });
      expect(choices[0]?.message).toMatchObject({
        tool_calls: [{ function: { parsed_arguments: { name: 'Ann', age: 7 } } }],
      });
    },
  );

  it.each(names)('raises a cut reply of %s as its own error', async (name) => {
    void callFor('Cut').then((call) => {
      call.chunk(ann.slice(0, 9));
      call.cut('length');
    });
    await expect(ways[name]('Cut')).rejects.toBeInstanceOf(LengthFinishReasonError);
  });

  it.each(names)('sends one request of %s for a form that is never met', async (name) => {
    const before = { requests, calls: model.calls.length };
    model.onCall = (call) => {
      call.chunk('Ann is seven.');
      call.finish();
    };
    expect(await errorOf(ways[name]('Never'))).toMatchObject({ status: 400, code: 'invalid_reply' });
    expect([requests, model.calls.length]).toEqual([before.requests + 1, before.calls + 2]);
  });
});
