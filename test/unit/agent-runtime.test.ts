import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { aiAgentRuntime } from '#agents/agent-runtime.ts';
import { demo } from '#agents/models/demo.ts';
import type { AgentRuntimeSettings } from '#agents/reply-loop.ts';
import { type AgentTool, kindOf, ToolFailure } from '#agents/tools/agent-tool.ts';
import { type PromptMessage, ReplyBudget, type ReplyPart } from '#domain/chats/agent-runtime.ts';
import { collectReply, isFailedByModel } from '#domain/chats/collect-reply.ts';
import type { ReplyForm } from '#domain/chats/reply-form.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { agentVersion, file } from '#support/frozen/entities.ts';
import { manualClock } from '#support/manual-clock.ts';

/** A runtime without tools, whose attachments have a text. */
const runtimeOf = (settings: Pick<AgentRuntimeSettings, 'providers'> & Partial<AgentRuntimeSettings>) =>
  aiAgentRuntime({
    ...{ clock: manualClock(), random: Math.random, tools: [], toolTimeout: 60_000 },
    attachments: () => ({ read: async () => ({ type: 'text', text: 'A note', pageOffsets: [] }) }),
    ...{ onToolError: () => undefined, onRejected: () => undefined, onRetry: () => undefined },
    allow: async () => undefined,
    ...settings,
  });

/** A provider of models with these methods. */
const scripted = (
  methodsOf: (name: string) => object,
  provider = 'scripted',
): AgentRuntimeSettings['providers'] => {
  const model = (name: string) =>
    ({
      ...{ specificationVersion: 'v4', provider: 'scripted', modelId: name, supportedUrls: {} },
      ...methodsOf(name),
    }) as unknown as LanguageModelV4;
  return { [provider]: { needsName: true, seesImages: () => false, model } };
};

/** An agent without tools. */
const agentWith = (llm_model: string, changes: object = {}) => ({
  ...agentVersion,
  definition: {
    ...agentVersion.definition,
    ...{ llm_model, unified_tools: [], use_search: false, meta: {} },
    ...changes,
  },
});
const limits = { modelCalls: 10, toolUses: 5, toolsAtOnce: 2, replyBytes: 1_000_000 };
const request = (changes: { modelCalls?: number } = {}) => ({
  ...{ chat: null, history: [], message: 'Hi', attachments: [], signal: new AbortController().signal },
  budget: new ReplyBudget({ ...limits, ...changes }),
});

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A response of these texts, or of a call of a tool. */
function responseOf(texts: readonly string[]) {
  const isCall = texts[0] === 'tool';
  const parts: LanguageModelV4StreamPart[] = [
    ...(isCall
      ? [{ type: 'tool-call', toolCallId: '1', toolName: 'none', input: '{}' } as const]
      : [
          { type: 'text-start', id: '0' } as const,
          ...texts.map((delta) => ({ type: 'text-delta', id: '0', delta }) as const),
          { type: 'text-end', id: '0' } as const,
        ]),
    { type: 'finish', finishReason: { unified: isCall ? 'tool-calls' : 'stop', raw: undefined }, usage },
  ];
  return { stream: ReadableStream.from(parts) };
}

describe('a reply in a form', () => {
  const form: ReplyForm = { name: 'number', schema: { type: 'array', items: { type: 'string' } } };

  /** The model returns the responses, each as deltas of text. */
  async function reply(responses: readonly (readonly string[])[], modelCalls = 10) {
    const calls: LanguageModelV4CallOptions[] = [];
    const retried: string[] = [];
    const doStream = async (options: LanguageModelV4CallOptions) =>
      responseOf(responses[calls.push(options) - 1] ?? []);
    const runtime = runtimeOf({
      providers: scripted(() => ({ doStream })),
      onRetry: (_model, reason) => retried.push(reason),
    });
    const parts: ReplyPart[] = [];
    const agent = agentWith('scripted:one');
    const end = await runtime.reply({ ...request({ modelCalls }), agent, form }, (part) => parts.push(part));
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
});

describe('a call of a model', () => {
  const agent = agentWith('scripted:down', {
    ...{ output_schema: { type: 'integer' }, meta: { fallback_models: ['scripted:up'] } },
  });

  /** A first model that is down, and a second one that says these texts. */
  function runtimeWith(texts: string[], allow: (model: string) => Promise<void>) {
    const called: string[] = [];
    const methodsOf = (name: string) => ({
      async doStream() {
        called.push(`scripted:${name}`);
        if (name === 'down') throw new ModelFailure('unavailable', 'It is down');
        return responseOf([texts.shift() ?? '']);
      },
      async doGenerate() {
        called.push(`scripted:${name}`);
        const finishReason = { unified: 'stop', raw: undefined };
        return { content: [{ type: 'text', text: 'A title' }], finishReason, usage };
      },
    });
    const runtime = runtimeOf({ providers: scripted(methodsOf), random: () => 0, allow });
    return { runtime, called, reply: () => runtime.reply({ ...request(), agent }, () => undefined) };
  }

  it('is asked for each time: for retries, fallback models, repairs and titles', async () => {
    const requested: string[] = [];
    const { runtime, called, reply } = runtimeWith(['one', '1'], async (model) => {
      requested.push(model);
    });
    expect(await reply()).toMatchObject({ reason: 'stop', cutShort: null });
    const titled = { ...request(), agent: agentWith('scripted:up'), onCall: () => undefined };
    expect(await runtime.title(titled)).toBe('A title');
    expect(called).toEqual([
      ...['scripted:down', 'scripted:down', 'scripted:up'],
      ...['scripted:up', 'scripted:up'],
    ]);
    expect(requested).toEqual(called);
  });

  it('that is not allowed is not made, and fails with the reason', async () => {
    const { called, reply } = runtimeWith(['1'], async () => {
      throw new ModelFailure('refused', 'There is no room');
    });
    await expect(reply()).rejects.toThrow('There is no room');
    expect(called).toEqual([]);
  });
});

describe('a fallback model', () => {
  /** Each test has a model of its own, because a model that has failed is paused for a while. */
  let models = 0;

  /** A first model that streams these parts and fails, and a model of the same name at another provider. */
  function runtimeAfter(failure: ModelFailure, parts: LanguageModelV4StreamPart[] = []) {
    models += 1;
    const called: string[] = [];
    const modelsOf = (provider: string) => {
      const doStream = async () => {
        called.push(provider);
        if (provider === 'second') return responseOf(['Here I am']);
        if (parts.length === 0) throw failure;
        return { stream: ReadableStream.from([...parts, { type: 'error', error: failure }]) };
      };
      return scripted(() => ({ doStream }), provider);
    };
    const clock = manualClock();
    const providers = { ...modelsOf('first'), ...modelsOf('second') };
    const runtime = runtimeOf({ providers, random: () => 0, clock });
    const fallback = `second:model ${models}`;
    const agent = agentWith(`first:model ${models}`, { meta: { fallback_models: [fallback] } });
    const ended: string[] = [];
    const reply = () =>
      runtime.reply({ ...request(), agent }, (part) => {
        if (part.type === 'call end' && part.usage.total_calls > 0) ended.push(part.call.model);
      });
    return { called, ended, clock, reply, fallback };
  }

  it.each(['throttled', 'unavailable'] as const)(
    'is called after two attempts of a model that is %s, and alone for ten seconds',
    async (kind) => {
      const { called, ended, clock, reply, fallback } = runtimeAfter(new ModelFailure(kind, 'It is down'));
      expect(await reply()).toMatchObject({ reason: 'stop' });
      expect(called.splice(0)).toEqual(['first', 'first', 'second']);
      await clock.advance(9999);
      await reply();
      expect(called.splice(0)).toEqual(['second']);
      await clock.advance(1);
      await reply();
      expect(called).toEqual(['first', 'first', 'second']);
      expect(ended).toEqual(Array(3).fill(fallback));
    },
  );

  it.each(['refused', 'tooLong', 'failed'] as const)('is not called if the model is %s', async (kind) => {
    const { called, reply } = runtimeAfter(new ModelFailure(kind, 'No'));
    await expect(reply()).rejects.toMatchObject({ kind });
    expect(called).toEqual(['first']);
  });

  it('is not called after the first output', async () => {
    const text: LanguageModelV4StreamPart = { type: 'text-delta', id: '0', delta: 'Here' };
    const { called, reply } = runtimeAfter(new ModelFailure('unavailable', 'It broke off'), [text]);
    await expect(reply()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(called).toEqual(['first']);
  });
});

describe('a model whose context window is full', () => {
  const said: PromptMessage[] = ['first', 'second', 'third', 'fourth'].flatMap((content) => [
    { role: 'user' as const, content, attachments: [] },
    { role: 'assistant' as const, content: `${content} reply`, reasoningSteps: [] },
  ]);

  /** A reply after four turns, of a model that takes at most so many messages. */
  function replyWithin(most: number, history = said) {
    const prompts: LanguageModelV4CallOptions['prompt'][] = [];
    const doStream = async ({ prompt }: LanguageModelV4CallOptions) => {
      const messages = prompt.filter(({ role }) => role !== 'system');
      prompts.push(messages);
      if (messages.length > most) throw new ModelFailure('tooLong', 'Too long', undefined, true);
      return responseOf(['Here I am']);
    };
    const runtime = runtimeOf({ providers: scripted(() => ({ doStream })) });
    const given = { ...request(), history, agent: agentWith('scripted:one') };
    return { prompts, reply: runtime.reply(given, () => undefined) };
  }
  const lengthsOf = (prompts: readonly { length: number }[]) => prompts.map(({ length }) => length);

  it('gets the later half of the earlier messages, and none of them in the end', async () => {
    const half = replyWithin(5);
    expect(await half.reply).toMatchObject({ reason: 'stop' });
    expect(lengthsOf(half.prompts)).toEqual([9, 5]);
    expect(half.prompts[1]).toEqual(half.prompts[0]?.slice(4));
    const none = replyWithin(1);
    expect(await none.reply).toMatchObject({ reason: 'stop' });
    expect(lengthsOf(none.prompts)).toEqual([9, 5, 1]);
  });

  it('gets no reply as its first message', async () => {
    const { prompts, reply } = replyWithin(1, said.slice(0, 6));
    await reply;
    expect(lengthsOf(prompts)).toEqual([7, 3, 1]);
  });

  it('has too long a message in the end', async () => {
    const { prompts, reply } = replyWithin(0);
    await expect(reply).rejects.toMatchObject({ kind: 'tooLong' });
    expect(lengthsOf(prompts)).toEqual([9, 5, 1]);
  });
});

function tool(changes: Partial<AgentTool>) {
  return kindOf({
    ...{ type: 'breaks', description: 'A tool.', config: z.object({}), input: () => z.object({}) },
    start: () => ({ content: 'Working', args: {} }),
    run: async () => ({ data: 'found' }),
    ...changes,
  });
}

/** A reply of the demo model, which calls the tool that the message names, and what is logged and counted of it. */
async function reply(settings: Partial<AgentRuntimeSettings> = {}) {
  const logged: { message: string; fields: Record<string, unknown> }[] = [];
  const metered: string[] = [];
  const ofTools: [tool: string, error: unknown][] = [];
  const retried: string[] = [];
  const log = (message: string, fields: Record<string, unknown> = {}) => logged.push({ message, fields });
  const { error, reply: collected } = await collectReply(
    {
      agentRuntime: runtimeOf({
        providers: { demo },
        onToolError: (type, failure) => ofTools.push([type, failure]),
        onRetry: (_model, failure) => retried.push(failure),
        ...settings,
      }),
      clock: manualClock(),
      log: { info: log, warn: log, error: log },
      meter: {
        ...({} as Parameters<typeof collectReply>[0]['meter']),
        replied: () => undefined,
        modelFailed: (_model, failure) => metered.push(failure),
      },
      replySettings: { streamTimeout: 90_000 } as Parameters<typeof collectReply>[0]['replySettings'],
    },
    {
      ...request({ modelCalls: 5 }),
      ...{ message: 'Use breaks', attachments: [file] },
      agent: agentWith('demo', {
        unified_tools: (settings.tools ?? []).map(({ type }) => ({ type, config: {} })),
      }),
    },
    { emit: () => undefined, stop: new AbortController(), deadline: 600_000 },
  );
  return { error, reply: collected, logged, metered, ofTools, retried };
}

const providerOf = (doStream: LanguageModelV4['doStream']): AgentRuntimeSettings['providers'] => ({
  demo: { ...demo, model: (name) => ({ ...demo.model(name), doStream }) },
});

describe('an error that no model caused', () => {
  const denied = Object.assign(new Error('s3:GetObject is not allowed'), { name: 'AccessDenied' });
  const throttled = Object.assign(new Error('Too fast'), { name: 'ThrottlingException' });
  const broken = new TypeError('Cannot read properties of undefined');
  /** As the SDK's clients throw it when DynamoDB or Secrets Manager cannot be reached. */
  const unreachable = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  const throwing = (error: Error) => (): never => {
    throw error;
  };
  const reading = (error: Error) => ({ attachments: () => ({ read: async () => throwing(error)() }) });
  it.each<[what: string, thrown: Error, settings: Partial<AgentRuntimeSettings>]>([
    ['a denied read of a file', denied, reading(denied)],
    ['a defect of the loop', broken, { tools: [tool({ start: throwing(broken) })] }],
  ])('%s is logged with its stack, and is no failure of the model', async (_what, thrown, settings) => {
    const { error, reply: failed, logged, metered, retried } = await reply(settings);
    expect(error).toBe(thrown);
    expect(isFailedByModel({ error, reply: failed })).toBe(false);
    expect(failed.error).toEqual({ code: 10005, message: 'The reply could not be completed' });
    expect(logged).toEqual([
      { message: 'A reply was not completed', fields: expect.objectContaining({ error: thrown }) },
    ]);
    expect(metered).toEqual([]);
    expect(retried).toEqual([]);
  });

  it.each([denied, throttled, unreachable, broken])('before a call is not counted: %s', async (thrown) => {
    const providers = providerOf(() => Promise.reject(thrown));
    const { error, metered, retried } = await reply({ providers });
    expect(error).not.toBeInstanceOf(ModelFailure);
    expect(error).toMatchObject({ message: `A call of a model failed with ${thrown.name}` });
    expect((error as Error).stack).toContain('agent-runtime.test.ts');
    expect((error as Error).stack).not.toContain(thrown.message);
    expect([metered, retried]).toEqual([[], []]);
  });

  it('in a stream is a failure of the model, with its stack and without its text', async () => {
    const stream = new ReadableStream({
      pull: () => {
        JSON.parse('"secret" garbage');
      },
    });
    const { error, metered } = await reply({ providers: providerOf(async () => ({ stream })) });
    expect(error).toMatchObject({ kind: 'failed', message: 'The model failed with SyntaxError' });
    const { stack } = (error as Error).cause as Error;
    expect(stack).toContain('agent-runtime.test.ts');
    expect(stack).not.toContain('garbage');
    expect(metered).toEqual(['failed']);
  });
});

describe('an error of a tool', () => {
  it.each([
    [
      'unknown is logged, and the model learns nothing of it',
      new Error('The table does not answer'),
      'It failed',
    ],
    ['for the model is not logged', new ToolFailure('There is no such page'), 'There is no such page'],
  ])('that is %s', async (_what, thrown, message) => {
    const run = () => Promise.reject(thrown);
    const { error, reply: collected, ofTools } = await reply({ tools: [tool({ run })] });
    expect(error).toBeUndefined();
    expect(collected.reasoningSteps).toMatchObject([{ result: { data: { message } } }]);
    expect(ofTools).toEqual(message === 'It failed' ? [['breaks', thrown]] : []);
  });
});
