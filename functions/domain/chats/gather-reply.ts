import type { StreamEventBody } from '#contract/events.ts';
import type { ReasoningStep, ReplyError, TokenUsage } from '#contract/message.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import { sumOf } from '#domain/platform/model-usage.ts';
import type { ModelCall, ReplyPart, StepResult } from './agent-runtime.ts';
import { type Incomplete, noUsage, unknownUsage } from './message.ts';

export interface Reply {
  content: string;
  error: ReplyError | null;
  incomplete: Incomplete | null;
  /** Whether the provider has rejected the content of the turn, or has taken it only without the rejected ones before. */
  rejected: 'turn' | 'earlier-turns' | null;
  usage: TokenUsage;
  /** In order of their start. */
  reasoningSteps: ReasoningStep[];
  /** `usage` is their sum. */
  calls: CountedCall[];
}

/** Message of the steps that run when a client stops their reply. */
export const stopped = 'The reply was stopped';

/** Error message of a reply that another function closed. */
export const interrupted = 'The reply was interrupted';

/** Builds a reply from its parts, and emits an event for each part that clients see. */
export function gatherReply(
  clock: Clock,
  emit: (event: StreamEventBody) => void,
): { reply: Reply; collect: (part: ReplyPart) => void; interrupt: (reason: string) => void } {
  const reply: Reply = {
    content: '',
    error: null,
    incomplete: null,
    rejected: null,
    usage: noUsage,
    reasoningSteps: [],
    calls: [],
  };
  const openCalls = new Set<ModelCall>();
  const countCall = ({ model, callType }: ModelCall, usage: TokenUsage): void => {
    if (usage.total_calls === 0) return;
    reply.usage = sumOf(reply.usage, usage);
    reply.calls.push([model, callType, usage.total_prompt_tokens, usage.total_completion_tokens]);
  };
  const now = () => clock.now().toISOString();
  const endStep = (id: string, end: Pick<ReasoningStep, 'token_usage'> & { result: StepResult }): void => {
    const step = reply.reasoningSteps.find((candidate) => candidate.id === id);
    if (step === undefined || step.ended_at !== null) return;
    const timestamp = now();
    Object.assign(step, end, { ended_at: timestamp });
    emit({
      type: 'response.reasoning_step.end',
      step: { id, type: step.type, result: end.result, timestamp, token_usage: end.token_usage },
    });
  };
  return {
    reply,
    collect(part) {
      switch (part.type) {
        case 'text':
          reply.content += part.text;
          emit({ type: 'response.output_text.delta', delta: part.text });
          break;
        case 'progress':
          break;
        case 'call start':
          openCalls.add(part.call);
          break;
        case 'call end':
          openCalls.delete(part.call);
          countCall(part.call, part.usage);
          break;
        case 'step-start': {
          const timestamp = now();
          const { id, type, content, args } = part.step;
          reply.reasoningSteps.push({
            ...{ id, type, content, args, result: null, started_at: timestamp, ended_at: null },
            token_usage: noUsage,
          });
          emit({ type: 'response.reasoning_step.start', step: { id, content, type, args, timestamp } });
          break;
        }
        case 'step-end':
          endStep(part.step.id, { result: part.step.result, token_usage: part.step.token_usage });
      }
    },
    /** Ends running steps as failures, and counts running model calls without tokens. */
    interrupt(reason) {
      for (const call of openCalls) countCall(call, unknownUsage);
      openCalls.clear();
      const result = { success: false, data: { message: reason } };
      for (const { id, token_usage } of reply.reasoningSteps) endStep(id, { result, token_usage });
    },
  };
}
