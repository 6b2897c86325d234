import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { expect, it } from 'vitest';
import { aiAgentRuntime } from '#agents/agent-runtime.ts';
import { ReplyBudget, type ReplyEnd, type ReplyPart } from '#domain/chats/agent-runtime.ts';
import type { ReplyForm } from '#domain/chats/reply-form.ts';
import { agentVersion } from '#support/frozen/entities.ts';
import { manualClock } from '#support/manual-clock.ts';

const form: ReplyForm = {
  name: 'number',
  schema: { type: 'array', items: { type: 'string' } },
};

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The parts of a response: these texts, or a call of a tool. */
function responseOf(texts: readonly string[]): LanguageModelV4StreamPart[] {
  const isCall = texts[0] === 'tool';
  return [
    ...(isCall
      ? [{ type: 'tool-call', toolCallId: '1', toolName: 'none', input: '{}' } as const]
      : [
          { type: 'text-start', id: '0' } as const,
          ...texts.map((delta) => ({ type: 'text-delta', id: '0', delta }) as const),
          { type: 'text-end', id: '0' } as const,
        ]),
    { type: 'finish', finishReason: { unified: isCall ? 'tool-calls' : 'stop', raw: undefined }, usage },
  ];
}

/** A reply in the form. The model returns the responses, each as deltas of text. */
async function reply(responses: readonly (readonly string[])[], modelCalls = 10) {
  const calls: LanguageModelV4CallOptions[] = [];
  const retried: string[] = [];
  const model = {
    ...{ specificationVersion: 'v4', provider: 'scripted', modelId: 'scripted', supportedUrls: {} },
    doStream: async (options: LanguageModelV4CallOptions) => ({
      stream: ReadableStream.from(responseOf(responses[calls.push(options) - 1] ?? [])),
    }),
  } as unknown as LanguageModelV4;
  const runtime = aiAgentRuntime({
    providers: { demo: { needsName: false, seesImages: () => false, model: () => model } },
    clock: manualClock(),
    random: Math.random,
    tools: [],
    attachments: () => ({ read: async () => ({ type: 'text', text: '', pageOffsets: [] }) }),
    ...{ toolTimeout: 60_000, onToolError: () => undefined, onRejected: () => undefined },
    allow: async () => undefined,
    onRetry: (_model, reason) => retried.push(reason),
  });
  const parts: ReplyPart[] = [];
  const limits = { modelCalls, toolUses: 5, toolsAtOnce: 2, replyBytes: 1_000_000 };
  const definition = {
    ...agentVersion.definition,
    llm_model: 'demo',
    unified_tools: [],
    use_search: false,
    meta: {},
  };
  const end: ReplyEnd = await runtime.reply(
    {
      ...{ agent: { ...agentVersion, definition }, chat: null, history: [], message: 'Hi', attachments: [] },
      ...{ form, budget: new ReplyBudget(limits), signal: new AbortController().signal },
    },
    (part) => parts.push(part),
  );
  const texts = parts.flatMap((part) => (part.type === 'response.output_text.delta' ? [part.delta] : []));
  return { end, texts, types: parts.map(({ type }) => type), calls, retried };
}

it('emits progress for each delta of the model, and the text after its end', async () => {
  const { types, texts, end } = await reply([['["o', 'ne', '"]']]);
  expect(types).toEqual([
    'call start',
    'progress',
    'progress',
    'progress',
    'call end',
    'response.output_text.delta',
  ]);
  expect(texts).toEqual(['["one"]']);
  expect(end).toEqual({ reason: 'stop', cutShort: null, incomplete: null });
});

it('is emitted in deltas that end between two characters', async () => {
  const text = `["${'a'.repeat(3997)}😀${'b'.repeat(4000)}"]`;
  const { texts } = await reply([[text]]);
  expect(texts.join('')).toBe(text);
  expect(texts.map(({ length }) => length)).toEqual([4001, 4000, 2]);
  expect(texts.every((delta) => delta.isWellFormed())).toBe(true);
});

it('takes the last call of the budget for a repair, and has none without one', async () => {
  expect((await reply([['1'], ['["one"]']], 2)).texts).toEqual(['["one"]']);
  const { calls, retried, end } = await reply([['1'], ['["one"]']], 1);
  expect(calls).toHaveLength(1);
  expect(retried).toEqual([]);
  expect(end).toMatchObject({
    reason: 'invalid-reply',
    cutShort: 'The reply does not match the schema: must be array',
  });
});

it('is repaired without tools, once, and counts it as a retry', async () => {
  const { calls, retried, end, texts } = await reply([['1'], ['tool'], ['["one"]']]);
  expect(calls).toHaveLength(2);
  expect(calls[1]?.toolChoice?.type ?? 'none').toBe('none');
  expect(retried).toEqual(['invalid-reply']);
  expect([end.reason, texts]).toEqual(['invalid-reply', []]);
});

it.each([
  [32 * 1024, 2],
  [32 * 1024 + 1, 1],
])('of %d bytes that does not fit has %d calls', async (bytes, expected) => {
  expect((await reply([['x'.repeat(bytes)], ['x']])).calls).toHaveLength(expected);
});

it.each([
  [256 * 1024, 'stop'],
  [256 * 1024 + 1, 'max-reply-bytes'],
])('of %d bytes ends with %s', async (bytes, reason) => {
  const { end, texts } = await reply([[`["${'x'.repeat(bytes - 4)}"]`]]);
  expect(end.reason).toBe(reason);
  expect(texts.join('').length).toBe(reason === 'stop' ? bytes : 0);
  if (reason !== 'stop')
    expect(end.cutShort).toBe('The reply reached its limit of 262144 bytes before its JSON was complete');
});
