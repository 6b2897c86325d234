import type { LanguageModelV4 } from '@ai-sdk/provider';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { aiAgentRuntime } from '#agents/agent-runtime.ts';
import { demo } from '#agents/models/demo.ts';
import type { AgentRuntimeSettings } from '#agents/reply-loop.ts';
import { type AgentTool, kindOf, ToolFailure } from '#agents/tools/agent-tool.ts';
import { ReplyBudget, type ReplyPart } from '#domain/chats/agent-runtime.ts';
import { collectReply, isFailedByModel } from '#domain/chats/collect-reply.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { agentVersion, file } from '#support/frozen/entities.ts';
import { manualClock } from '#support/manual-clock.ts';

let logged: { message: string; fields: Record<string, unknown> }[];
let metered: string[];
let ofTools: [tool: string, error: unknown][];
let retried: string[];
beforeEach(() => {
  logged = [];
  metered = [];
  ofTools = [];
  retried = [];
});

const log = (message: string, fields: Record<string, unknown> = {}) => logged.push({ message, fields });
const limits = { modelCalls: 5, toolUses: 5, toolsAtOnce: 2, replyBytes: 1000 };

function tool(changes: Partial<AgentTool>) {
  return kindOf({
    ...{ type: 'breaks', description: 'A tool.', config: z.object({}), input: () => z.object({}) },
    start: () => ({ content: 'Working', args: {} }),
    run: async () => ({ data: 'found' }),
    ...changes,
  });
}

/** A reply of the demo model, which calls the tool that the message names. */
async function reply(settings: Partial<AgentRuntimeSettings> = {}) {
  const parts: ReplyPart[] = [];
  const agentRuntime = aiAgentRuntime({
    providers: { demo },
    clock: manualClock(),
    random: Math.random,
    tools: [],
    attachments: () => ({ read: async () => ({ type: 'text', text: 'A note', pageOffsets: [] }) }),
    ...{ toolTimeout: 60_000, onToolError: (type, error) => ofTools.push([type, error]) },
    onRetry: (_model, failure) => retried.push(failure),
    onRejected: () => undefined,
    allow: async () => undefined,
    ...settings,
  });
  const collected = await collectReply(
    {
      agentRuntime: {
        ...agentRuntime,
        reply: (request, forwardTo) =>
          agentRuntime.reply(request, (part) => {
            parts.push(part);
            forwardTo(part);
          }),
      },
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
      agent: {
        ...agentVersion,
        definition: {
          ...agentVersion.definition,
          llm_model: 'demo',
          use_search: false,
          unified_tools: (settings.tools ?? []).map(({ type }) => ({ type, config: {} })),
        },
      },
      ...{ chat: null, history: [], message: 'Use breaks', attachments: [file] },
      budget: new ReplyBudget(limits),
    },
    { emit: () => undefined, stop: new AbortController(), deadline: 600_000 },
  );
  return { ...collected, parts };
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

  it.each<[what: string, thrown: Error, settings: Partial<AgentRuntimeSettings>]>([
    ['a denied read of a file', denied, { attachments: () => ({ read: () => Promise.reject(denied) }) }],
    ['a throttled table', throttled, { attachments: () => ({ read: () => Promise.reject(throttled) }) }],
    [
      'no connection to S3',
      unreachable,
      { attachments: () => ({ read: () => Promise.reject(unreachable) }) },
    ],
    [
      'a defect of the loop',
      broken,
      {
        tools: [
          tool({
            start: () => {
              throw broken;
            },
          }),
        ],
      },
    ],
  ])('%s is logged with its stack, and is no failure of the model', async (_what, thrown, settings) => {
    const { error, reply: failed } = await reply(settings);
    expect(error).toBe(thrown);
    expect(isFailedByModel({ error, reply: failed })).toBe(false);
    expect(failed.error).toEqual({ code: 10005, message: 'The reply could not be completed' });
    expect(logged).toEqual([
      { message: 'A reply was not completed', fields: expect.objectContaining({ error: thrown }) },
    ]);
    expect(metered).toEqual([]);
    expect(retried).toEqual([]);
  });

  it.each([denied, throttled, unreachable, broken])(
    'before the request to the provider is neither retried nor counted: %s',
    async (thrown) => {
      const { error } = await reply({ providers: providerOf(() => Promise.reject(thrown)) });
      expect(error).not.toBeInstanceOf(ModelFailure);
      expect(error).toMatchObject({ message: `A call of a model failed with ${thrown.name}` });
      expect((error as Error).stack).toContain('own-errors.test.ts');
      expect((error as Error).stack).not.toContain(thrown.message);
      expect([metered, retried]).toEqual([[], []]);
    },
  );

  it('in a stream is a failure of the model, with its stack and without its text', async () => {
    const stream = new ReadableStream({
      pull: () => {
        JSON.parse('"secret" garbage');
      },
    });
    const { error } = await reply({ providers: providerOf(async () => ({ stream })) });
    expect(error).toMatchObject({ kind: 'failed', message: 'The model failed with SyntaxError' });
    const { stack } = (error as Error).cause as Error;
    expect(stack).toContain('own-errors.test.ts');
    expect(stack).not.toContain('garbage');
    expect(metered).toEqual(['failed']);
  });
});

describe('an error of a tool', () => {
  const messageOf = (parts: ReplyPart[]) =>
    parts.flatMap((part) => (part.type === 'response.reasoning_step.end' ? [part.step.result.data] : []));

  it('that is unknown is logged, and the model learns nothing of it', async () => {
    const thrown = new Error('The table does not answer');
    const { error, parts } = await reply({ tools: [tool({ run: () => Promise.reject(thrown) })] });
    expect(error).toBeUndefined();
    expect(messageOf(parts)).toEqual([{ message: 'It failed' }]);
    expect(ofTools).toEqual([['breaks', thrown]]);
  });

  it('that it tells the model is not logged', async () => {
    const run = () => Promise.reject(new ToolFailure('There is no such page'));
    const { parts } = await reply({ tools: [tool({ run })] });
    expect(messageOf(parts)).toEqual([{ message: 'There is no such page' }]);
    expect(ofTools).toEqual([]);
  });
});
