import type { ErrorKind } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  type CompletionUsage,
  type FinishReason,
  OpenAiError,
  shouldRetryHeader,
} from '#contract/openai.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { ReplyEndReason } from '#domain/chats/agent-runtime.ts';
import { type CollectedReply, type Reply, ReplyAborted } from '#domain/chats/collect-reply.ts';
import { noUsage } from '#domain/chats/message.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/failures.ts';
import type { ForcedTool } from './completion-form.ts';
import type { ImageInspector } from './read-conversation.ts';

const finishReasons: Readonly<Record<ReplyEndReason, FinishReason>> = {
  stop: 'stop',
  empty: 'stop',
  'max-output-tokens': 'length',
  'max-reply-bytes': 'length',
  'max-steps': 'length',
  'max-model-calls': 'length',
  'max-tool-uses': 'length',
  'content-filter': 'content_filter',
  'invalid-reply': 'stop',
};

const kinds: Readonly<Record<ModelFailureKind, ErrorKind>> = {
  throttled: 'unavailable',
  unavailable: 'unavailable',
  tooLong: 'badRequest',
  refused: 'badRequest',
  failed: 'serverError',
};

/** An error must not make the client repeat its request automatically: the model calls of the reply may be paid. */
type CompletionOutcome = FinishReason | OpenAiError;

export function outcomeOf({ reply, error, reason }: CollectedReply): CompletionOutcome {
  const message = reply.error?.message ?? 'The reply was interrupted';
  const headers = { [shouldRetryHeader]: 'false' };
  // Clients may repeat a request after 408, 409, 429 and 5xx, but not after 400.
  if (reason === 'invalid-reply')
    return new OpenAiError('badRequest', message, { headers, code: 'invalid_reply' });
  if (reason !== undefined) return finishReasons[reason];
  const kind = error instanceof ModelFailure ? error.kind : 'failed';
  return new OpenAiError(kinds[kind], message, {
    ...{ headers, reason: message },
    ...(kind === 'tooLong' && { param: 'messages', code: 'context_length_exceeded' }),
  });
}

export const isAbandoned = ({ error }: CollectedReply): boolean =>
  error instanceof ReplyAborted && error.kind === 'stopped-by-client';

interface CompletionHead {
  id: string;
  created: number;
  model: string;
  system_fingerprint: string;
}

export const completionHead = (agent: AgentVersion, uuid: string, now: Date): CompletionHead => ({
  id: `chatcmpl-${uuid.replaceAll('-', '')}`,
  created: Math.floor(now.getTime() / 1000),
  model: agent.agentId,
  system_fingerprint: `v${agent.number}`,
});

const usageOf = (usage: TokenUsage): CompletionUsage => ({
  prompt_tokens: usage.total_prompt_tokens,
  completion_tokens: usage.total_completion_tokens,
  total_tokens: usage.total_tokens,
  prompt_tokens_details: { cached_tokens: usage.cached_prompt_tokens },
});

const lineOf = ({ content }: Pick<ReasoningStep, 'content'>): string => `${content}\n`;

export const completionResource = (
  head: CompletionHead,
  { content, usage, reasoningSteps }: Reply,
  finish_reason: FinishReason,
  tool?: ForcedTool,
): ChatCompletion => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        ...(tool === undefined || content === ''
          ? { content }
          : { content: null, tool_calls: [callOf(head, tool, content)] }),
        refusal: null,
        ...(reasoningSteps.length > 0 && { reasoning_content: reasoningSteps.map(lineOf).join('') }),
      },
      logprobs: null,
      finish_reason: finishOf(finish_reason, tool),
    },
  ],
  usage: usageOf(usage),
  ...(reasoningSteps.length > 0 && { agent_steps: reasoningSteps }),
});

/** OpenAI ends a reply with `stop` if the tool was named, and with `tool_calls` if some tool was required. */
const finishOf = (reason: FinishReason, tool: ForcedTool | undefined): FinishReason =>
  reason === 'stop' && tool?.isNamed === false ? 'tool_calls' : reason;

const callOf = ({ id }: CompletionHead, { name }: ForcedTool, text: string) => ({
  id: id.replace('chatcmpl-', 'call_'),
  type: 'function' as const,
  function: { name, arguments: text },
});

type Delta = ChatCompletionChunk['choices'][number]['delta'];

export function completionChunks(
  head: CompletionHead,
  { includesUsage, tool }: { includesUsage?: boolean | undefined; tool?: ForcedTool | undefined },
) {
  const steps = new Map<string, ReasoningStep>();
  let isCalled = false;
  const callDelta = (text: string, called: ForcedTool): Delta => {
    const call = isCalled ? { function: { arguments: text } } : callOf(head, called, text);
    isCalled = true;
    return { tool_calls: [{ index: 0, ...call }] };
  };
  const chunk = (
    delta: Delta,
    more: Partial<ChatCompletionChunk> = {},
    finish_reason: FinishReason | null = null,
  ): ChatCompletionChunk => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(includesUsage && { usage: null }),
    ...more,
  });
  const stepChunk = (step: ReasoningStep): ChatCompletionChunk => {
    steps.set(step.id, step);
    return chunk({ content: '' }, { agent_steps: [step] });
  };
  return {
    role: () => chunk({ role: 'assistant', content: '' }),
    /** For pauses, against timeouts. An SSE comment would not do, because clients ignore comments. */
    silence: () => chunk({}),
    of(event: StreamEventBody): ChatCompletionChunk[] {
      switch (event.type) {
        case 'response.output_text.delta':
          return [chunk(tool === undefined ? { content: event.delta } : callDelta(event.delta, tool))];
        case 'response.reasoning_step.start': {
          const { timestamp: started_at, ...step } = event.step;
          return [
            chunk({ reasoning_content: lineOf(step) }),
            stepChunk({ ...step, result: null, started_at, ended_at: null, token_usage: noUsage }),
          ];
        }
        case 'response.reasoning_step.end': {
          const { id, result, token_usage, timestamp: ended_at } = event.step;
          const step = steps.get(id);
          return step === undefined ? [] : [stepChunk({ ...step, result, token_usage, ended_at })];
        }
        default:
          return [];
      }
    },
    end: (finish_reason: FinishReason, usage: TokenUsage): ChatCompletionChunk[] => [
      chunk({}, {}, finishOf(finish_reason, tool)),
      ...(includesUsage ? [{ ...chunk({}), choices: [], usage: usageOf(usage) }] : []),
    ],
  };
}

interface CompletionServices extends ChatServices {
  imageInspector: ImageInspector;
}

export type Services<Name extends keyof CompletionServices> = Pick<CompletionServices, Name>;
