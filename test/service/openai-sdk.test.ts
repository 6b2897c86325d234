import OpenAI from 'openai';
import { LengthFinishReasonError } from 'openai/error';
import { zodResponseFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { replyWith } from '#support/model-server.ts';
import { useScriptedService } from '#support/use-service.ts';

const { callFor, model, service, tenant } = await useScriptedService(undefined, { openai: true });

let requests = 0;
const { completions } = new OpenAI({
  apiKey: tenant.apiKey,
  baseURL: `${service.baseUrl}/openai`,
  fetch: (...given) => {
    requests += 1;
    return fetch(...given);
  },
}).chat;
const requestOf = (content: string) => ({
  model: tenant.agentId,
  messages: [{ role: 'user' as const, content }],
});

describe('OpenAI’s client for Node.js, with a form', () => {
  const person = z.object({ name: z.string(), age: z.int() });
  const ann = '{"name": "Ann", "age": 7}';
  const formed = (content: string) => ({
    ...requestOf(content),
    response_format: zodResponseFormat(person, 'person'),
  });
  const ways = {
    parse: (content: string) => completions.parse(formed(content)),
    stream: (content: string) => completions.stream(formed(content)).finalChatCompletion(),
  };
  const names = ['parse', 'stream'] as const;

  it.each(names)('returns an object of the schema from %s', async (name) => {
    void callFor('Who?').then((call) => replyWith(call, ann));
    const { choices } = await ways[name]('Who?');
    expect(choices[0]?.message.parsed).toEqual({ name: 'Ann', age: 7 });
  });

  it.each(names)('raises a cut reply of %s as its own error', async (name) => {
    void callFor('Cut').then((call) => {
      call.chunk(ann.slice(0, 9));
      call.cut('length');
    });
    await expect(ways[name]('Cut')).rejects.toBeInstanceOf(LengthFinishReasonError);
  });

  it.each(names)('sends one request of %s for a form that is never met', async (name) => {
    const before = { requests, calls: model.calls.length };
    model.onCall = (call) => replyWith(call, 'Ann is seven.');
    await expect(ways[name]('Never')).rejects.toMatchObject({ status: 400, code: 'invalid_reply' });
    expect([requests, model.calls.length]).toEqual([before.requests + 1, before.calls + 2]);
  });
});
