import type { ErrorKind } from '#contract/errors.ts';
import type { FinishReason } from '#contract/openai/chat-completion.ts';
import { OpenAiError, shouldRetryHeader } from '#contract/openai/error.ts';
import type { ReplyEndReason } from '#domain/chats/agent-runtime.ts';
import { type CollectedReply, ReplyAborted } from '#domain/chats/collect-reply.ts';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/model-failure.ts';

/** Also an empty reply has stopped: the model had nothing to say. */
const finishReasons: Readonly<Record<ReplyEndReason, FinishReason>> = {
  stop: 'stop',
  empty: 'stop',
  'max-output-tokens': 'length',
  'max-reply-bytes': 'length',
  'max-steps': 'length',
  'max-model-calls': 'length',
  'max-tool-uses': 'length',
  'content-filter': 'content_filter',
};

const kinds: Readonly<Record<ModelFailureKind, ErrorKind>> = {
  throttled: 'unavailable',
  unavailable: 'unavailable',
  tooLong: 'badRequest',
  refused: 'badRequest',
  failed: 'serverError',
};

/** How a reply has ended: by itself, or with an error. The client may not repeat its request by itself: the run is paid. */
export type CompletionOutcome = FinishReason | OpenAiError;

export function outcomeOf({ reply, error, reason }: CollectedReply): CompletionOutcome {
  if (reason !== undefined) return finishReasons[reason];
  const message = reply.error?.message ?? 'The reply was interrupted';
  const kind = error instanceof ModelFailure ? error.kind : 'failed';
  return new OpenAiError(kinds[kind], message, {
    headers: { [shouldRetryHeader]: 'false' },
    reason: message,
    ...(kind === 'tooLong' && { param: 'messages', code: 'context_length_exceeded' }),
  });
}

/** Whether nobody reads the reply any more. */
export const isAbandoned = ({ error }: CollectedReply): boolean =>
  error instanceof ReplyAborted && error.kind === 'stopped-by-client';
