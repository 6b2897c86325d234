import type { AgentRuntime, ReplyPart, ReplyRequest } from '#domain/chats/agent-runtime.ts';
import { noUsage } from '#domain/chats/message.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';

/** What the model does with a request: a text, an error after a text or before any, or nothing until it is aborted. */
export type ModelReply = string | Error | { text: string; error: Error } | 'silence';

export const usageOfReply = {
  ...{ total_prompt_tokens: 10, total_completion_tokens: 5, total_tokens: 15, total_calls: 1 },
};

export interface ScriptedRuntime extends AgentRuntime {
  /** Messages in the order of their calls. */
  calls: string[];
  requests: ReplyRequest[];
  /** @param attempt counted from 1 for each message */
  replyTo: (message: string, attempt: number) => ModelReply;
}

export function scriptedRuntime(): ScriptedRuntime {
  const runtime: ScriptedRuntime = {
    calls: [],
    requests: [],
    replyTo: (message) => `Reply to ${message}`,
    async reply(request, forwardTo) {
      const { message, agent, signal } = request;
      runtime.calls.push(message);
      runtime.requests.push(request);
      const attempt = runtime.calls.filter((called) => called === message).length;
      const reply = runtime.replyTo(message, attempt);
      const call = { model: agent.definition.llm_model, callType: 'chat' } as const;
      const emit = (part: ReplyPart) => forwardTo(part);
      emit({ type: 'call start', call });
      if (reply === 'silence') return untilAborted(new Promise(() => undefined), signal);
      if (reply instanceof Error) {
        emit({ type: 'call end', call, usage: noUsage });
        throw reply;
      }
      emit({ type: 'text', text: typeof reply === 'string' ? reply : reply.text });
      emit({ type: 'call end', call, usage: usageOfReply });
      if (typeof reply !== 'string') throw reply.error;
      return { cutShort: null, incomplete: null };
    },
    title: async () => undefined,
  };
  return runtime;
}
