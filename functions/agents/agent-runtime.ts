import { type ModelMessage, streamText } from 'ai';
import type { TokenUsage } from '#contract/message.ts';
import type { Message } from '#domain/message.ts';
import type { AgentRuntime, ReplyPart, ReplyRequest } from '#domain/ports/agent-runtime.ts';
import { ModelError, modelErrorOf } from './model-error.ts';
import { findProvider, type ModelProvider } from './models/model-provider.ts';

/** Always set: without it a provider's own default cuts replies at a length that nobody chose. */
const maxOutputTokens = 8192;

/** Answers messages with the agent's model, through the AI SDK. */
export function aiAgentRuntime(providers: Record<string, ModelProvider>): AgentRuntime {
  return {
    async *reply(request) {
      try {
        yield* replyOf(providers, request);
      } catch (error) {
        throw modelErrorOf(error);
      }
    },

    async title({ agent, message }) {
      const { provider } = findProvider(providers, agent.definition.llm_model);
      const title = provider.title?.(message);
      return title === '' ? undefined : title;
    },
  };
}

async function* replyOf(
  providers: Record<string, ModelProvider>,
  { agent, history, message, signal }: ReplyRequest,
): AsyncGenerator<ReplyPart> {
  const { llm_model, system_prompt } = agent.definition;
  const { provider, name } = findProvider(providers, llm_model);
  const result = streamText({
    model: provider.model(name),
    ...(system_prompt !== '' && { instructions: system_prompt }),
    messages: conversationOf([...history, { role: 'user', content: message }]),
    maxOutputTokens,
    abortSignal: signal,
    onError: () => undefined,
  });
  for await (const part of result.stream)
    switch (part.type) {
      case 'text-delta':
        if (part.text !== '') yield { type: 'text', text: part.text };
        break;
      case 'finish':
        yield {
          type: 'end',
          usage: usageOf(part.totalUsage),
          reasoningSteps: [],
          cutShort: reasonsCutShort[part.finishReason] ?? null,
        };
        return;
      case 'error':
        throw part.error;
      case 'abort':
        throw new ModelError('The reply was aborted');
    }
  throw new ModelError('The model ended its reply without a finish');
}

const reasonsCutShort: Partial<Record<string, string>> = {
  length: `The reply was cut at the limit of ${maxOutputTokens} tokens`,
  'content-filter': 'The reply was cut by the content filter of the model',
};

const usageOf = (usage: {
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  totalTokens: number | undefined;
}): TokenUsage => ({
  total_prompt_tokens: usage.inputTokens ?? 0,
  total_completion_tokens: usage.outputTokens ?? 0,
  total_tokens: usage.totalTokens ?? 0,
  total_calls: 1,
});

/**
 * Messages as a model takes them. A reply that failed before its first word has nothing to tell; the user messages
 * around it become one, since some models refuse two in a row.
 */
function conversationOf(messages: Pick<Message, 'role' | 'content'>[]): ModelMessage[] {
  const conversation: { role: 'user' | 'assistant'; content: string }[] = [];
  for (const { role, content } of messages) {
    if (content === '') continue;
    const last = conversation.at(-1);
    if (last?.role === role) last.content += `\n\n${content}`;
    else conversation.push({ role, content });
  }
  return conversation;
}
