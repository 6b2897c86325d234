import type { StreamEventBody } from '#contract/events.ts';
import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CompletionUsage,
  FinishReason,
} from '#contract/openai/chat-completion.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Reply } from '#domain/chats/gather-reply.ts';
import { noUsage } from '#domain/chats/message.ts';

/** What every part of a response says of it. */
export interface CompletionHead {
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

/** The sum over all calls of models. */
const usageOf = (usage: TokenUsage): CompletionUsage => ({
  prompt_tokens: usage.total_prompt_tokens,
  completion_tokens: usage.total_completion_tokens,
  total_tokens: usage.total_tokens,
});

/** A line of what the agent does, for clients that show it as thinking. */
const lineOf = ({ content }: Pick<ReasoningStep, 'content'>): string => `${content}\n`;

export const completionResource = (
  head: CompletionHead,
  { content, usage, reasoningSteps }: Reply,
  finish_reason: FinishReason,
): ChatCompletion => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content,
        refusal: null,
        ...(reasoningSteps.length > 0 && { reasoning_content: reasoningSteps.map(lineOf).join('') }),
      },
      logprobs: null,
      finish_reason,
    },
  ],
  usage: usageOf(usage),
  ...(reasoningSteps.length > 0 && { agent_steps: reasoningSteps }),
});

type Delta = ChatCompletionChunk['choices'][number]['delta'];

/** The chunks of one streamed response. */
export function completionChunks(head: CompletionHead, { includesUsage }: { includesUsage: boolean }) {
  const steps = new Map<string, ReasoningStep>();
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
    /** Clients that wait for a line do not see comments. */
    silence: () => chunk({}),
    /** The chunks for an event of a reply. */
    of(event: StreamEventBody): ChatCompletionChunk[] {
      switch (event.type) {
        case 'response.output_text.delta':
          return [chunk({ content: event.delta })];
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
      chunk({}, {}, finish_reason),
      ...(includesUsage ? [{ ...chunk({}), choices: [], usage: usageOf(usage) }] : []),
    ],
  };
}
