import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, it } from 'vitest';
import { aiAgentRuntime } from '#agents/agent-runtime.ts';
import { ReplyBudget } from '#domain/chats/agent-runtime.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { agentVersion } from '#support/frozen/entities.ts';
import { manualClock } from '#support/manual-clock.ts';

const finish = {
  finishReason: { unified: 'stop', raw: undefined },
  usage: { inputTokens: {}, outputTokens: {} },
};
const responseOf = (text: string) =>
  [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: text },
    { type: 'text-end', id: '0' },
    { type: 'finish', ...finish },
  ] as LanguageModelV4StreamPart[];

/** A first model that is down, and a second one that says these texts. */
function runtimeWith(texts: string[], allow: (model: string) => Promise<void>) {
  const called: string[] = [];
  const modelAt = (name: string) =>
    ({
      ...{ specificationVersion: 'v4', provider: 'scripted', modelId: name, supportedUrls: {} },
      async doStream() {
        called.push(`scripted:${name}`);
        if (name === 'down') throw new ModelFailure('unavailable', 'It is down');
        return { stream: ReadableStream.from(responseOf(texts.shift() ?? '')) };
      },
      async doGenerate() {
        called.push(`scripted:${name}`);
        return { content: [{ type: 'text', text: 'A title' }], ...finish };
      },
    }) as unknown as LanguageModelV4;
  const runtime = aiAgentRuntime({
    providers: { scripted: { needsName: true, seesImages: () => false, model: modelAt } },
    clock: manualClock(),
    random: () => 0,
    allow,
    tools: [],
    attachments: () => ({ read: async () => ({ type: 'text', text: '', pageOffsets: [] }) }),
    ...{ toolTimeout: 60_000, onToolError: () => undefined, onRejected: () => undefined },
    onRetry: () => undefined,
  });
  return { runtime, called };
}

const agent = {
  ...agentVersion,
  definition: {
    ...agentVersion.definition,
    ...{ llm_model: 'scripted:down', unified_tools: [], use_search: false },
    output_schema: { type: 'integer' },
    meta: { fallback_models: ['scripted:up'] },
  },
};
const ofReply = () => ({
  ...{ agent, message: 'Hi', signal: new AbortController().signal },
  budget: new ReplyBudget({ modelCalls: 10, toolUses: 5, toolsAtOnce: 2, replyBytes: 1000 }),
});
const reply = (runtime: ReturnType<typeof aiAgentRuntime>) =>
  runtime.reply({ ...ofReply(), chat: null, history: [], attachments: [] }, () => undefined);

it('asks before each call: retries, fallback models, repairs and titles', async () => {
  const requested: string[] = [];
  const { runtime, called } = runtimeWith(['one', '1'], async (model) => {
    requested.push(model);
  });
  expect(await reply(runtime)).toMatchObject({ reason: 'stop', cutShort: null });
  const titled = { ...agent, definition: { ...agent.definition, llm_model: 'scripted:up' } };
  expect(await runtime.title({ ...ofReply(), agent: titled, onCall: () => undefined })).toBe('A title');
  expect(called).toEqual([
    ...['scripted:down', 'scripted:down', 'scripted:up'],
    ...['scripted:up', 'scripted:up'],
  ]);
  expect(requested).toEqual(called);
});

it('makes no call that is not allowed, and fails with the reason', async () => {
  const { runtime, called } = runtimeWith(['1'], async () => {
    throw new ModelFailure('refused', 'There is no room');
  });
  await expect(reply(runtime)).rejects.toThrow('There is no room');
  expect(called).toEqual([]);
});
