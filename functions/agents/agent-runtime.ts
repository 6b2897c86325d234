import { type ModelMessage, streamText } from 'ai';
import type { TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agent.ts';
import type { Message } from '#domain/message.ts';
import type { AgentRuntime } from '#domain/ports/agent-runtime.ts';
import { ModelError, modelErrorOf } from './model-error.ts';
import type { ModelProvider } from './models/model-provider.ts';

/** Always set: without it a provider's own default cuts replies at a length that nobody chose. */
const maxOutputTokens = 8192;

/** Answers messages with the agent's model, through the AI SDK. */
export function aiAgentRuntime(providers: Record<string, ModelProvider>): AgentRuntime {
  const findModel = (agent: AgentVersion): { provider: ModelProvider; name: string } => {
    const llmModel = agent.definition.llm_model;
    const colon = llmModel.indexOf(':');
    const [providerName, name] =
      colon === -1 ? [llmModel, ''] : [llmModel.slice(0, colon), llmModel.slice(colon + 1)];
    const provider = providers[providerName];
    if (provider === undefined) throw new ModelError(`There is no model provider ${providerName}`);
    return { provider, name };
  };

  return {
    async *reply({ agent, history, message, signal }) {
      const { provider, name } = findModel(agent);
      const result = streamText({
        model: provider.model(name),
        ...(agent.definition.system_prompt !== '' && { instructions: agent.definition.system_prompt }),
        messages: [...history.flatMap(modelMessagesOf), { role: 'user', content: message }],
        maxOutputTokens,
        abortSignal: signal,
        onError: () => undefined,
      });
      let usage: TokenUsage | undefined;
      for await (const part of result.stream)
        switch (part.type) {
          case 'text-delta':
            if (part.text !== '') yield { type: 'text', text: part.text };
            break;
          case 'finish':
            usage = {
              total_prompt_tokens: part.totalUsage.inputTokens ?? 0,
              total_completion_tokens: part.totalUsage.outputTokens ?? 0,
              total_tokens: part.totalUsage.totalTokens ?? 0,
              total_calls: 1,
            };
            break;
          case 'error':
            throw modelErrorOf(part.error);
          case 'abort':
            throw new ModelError('The reply was aborted');
        }
      if (usage === undefined) throw new ModelError('The model ended its reply without a finish');
      yield { type: 'end', usage, reasoningSteps: [] };
    },

    async title({ agent, message }) {
      const title = findModel(agent).provider.title?.(message);
      return title === '' ? undefined : title;
    },
  };
}

/** A reply that failed before its first word has nothing to tell a model. */
const modelMessagesOf = ({ role, content }: Message): ModelMessage[] =>
  content === '' ? [] : [{ role, content }];
