import type { TokenUsage } from '#contract/message.ts';
import type { AgentRuntime, ReplyEnd, ReplyPart, ReplyRequest } from '#domain/chats/agent-runtime.ts';

export const usageOfCall: TokenUsage = {
  total_prompt_tokens: 10,
  total_completion_tokens: 2,
  total_tokens: 12,
  total_calls: 1,
  cached_prompt_tokens: 0,
};

/** A reply that a model is making, played by a test. */
export interface ScriptedReply {
  request: ReplyRequest;
  emit(part: ReplyPart): void;
  text(text: string): void;
  /** Starts a call of the model. The returned function ends the call, with its usage. */
  startCall(): (usage?: TokenUsage) => void;
  end(end?: Partial<ReplyEnd>): void;
  fail(error: unknown): void;
}

export interface ScriptedRuntime extends AgentRuntime {
  replies: ScriptedReply[];
  titles: Parameters<AgentRuntime['title']>[0][];
  /** Plays each reply. By default, a reply makes one call of the model, which says Hello. */
  onReply: (reply: ScriptedReply) => void;
  onTitle: AgentRuntime['title'];
  /** Replies are left to the test, which takes them from `replies`. They end when they are aborted. */
  pause(): void;
}

export function scriptedRuntime(): ScriptedRuntime {
  const runtime: ScriptedRuntime = {
    replies: [],
    titles: [],
    onReply: sayHello,
    onTitle: async () => 'A title',
    pause: () => {
      runtime.onReply = ({ request: { signal }, fail }) =>
        signal.addEventListener('abort', () => fail(signal.reason));
    },
    reply(request, forwardTo) {
      const { promise, resolve, reject } = Promise.withResolvers<ReplyEnd>();
      const reply: ScriptedReply = {
        request,
        emit: forwardTo,
        text: (delta) => forwardTo({ type: 'response.output_text.delta', delta }),
        startCall() {
          const call = { model: 'openai:test', callType: 'chat' } as const;
          forwardTo({ type: 'call start', call });
          return (usage = usageOfCall) => forwardTo({ type: 'call end', call, usage });
        },
        end: (end) => resolve({ reason: 'stop', cutShort: null, incomplete: null, ...end }),
        fail: reject,
      };
      runtime.replies.push(reply);
      runtime.onReply(reply);
      return promise;
    },
    title(request) {
      runtime.titles.push(request);
      return runtime.onTitle(request);
    },
  };
  return runtime;
}

function sayHello(reply: ScriptedReply): void {
  const endCall = reply.startCall();
  reply.text('Hel');
  reply.text('lo');
  endCall();
  reply.end();
}
