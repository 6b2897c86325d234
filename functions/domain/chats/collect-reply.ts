import { errorTable } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { ReplyError } from '#contract/message.ts';
import type { Cancel } from '#domain/platform/clock.ts';
import type { FailureOfModel } from '#domain/platform/meter.ts';
import { ModelFailure, modelFailureTexts } from '#domain/platform/model-failure.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import type { ReplyEndReason, ReplyRequest } from './agent-runtime.ts';
import { gatherReply, interrupted, type Reply } from './gather-reply.ts';
import type { Services } from './services.ts';

/**
 * Aborts a reply, with a message for clients. `idle-timeout`: the model sent nothing for too long; `deadline`: it took
 * too long in all; `lease-lost`: another function owns the chat now; `max-length`: the reply is as long as it may be;
 * `shutdown`: Lambda ends the process; `stopped-by-client`: it ends with the text so far, and without an error.
 */
export class ReplyAborted extends Error {
  override readonly name = 'ReplyAborted';
  readonly kind: 'idle-timeout' | 'deadline' | 'lease-lost' | 'max-length' | 'shutdown' | 'stopped-by-client';

  constructor(kind: ReplyAborted['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface CollectedReply {
  reply: Reply;
  error: unknown;
  /** Undefined if the reply did not end by itself. */
  reason: ReplyEndReason | undefined;
  /** Resolves when the model has ended too: after an abort it may run for a while. */
  modelEnded: Promise<void>;
}

export const failure = (message: string): ReplyError => ({ code: errorTable.serverError.errorCode, message });

/**
 * Calls the model and emits an event for each part of the reply. Aborts it after the idle timeout or the deadline.
 * @param stop aborts the reply, and is aborted when the reply fails
 * @param deadline milliseconds that the model may take in all
 * @returns the reply, complete or not, with the reason of its end; the error instead if the model did not end it
 */
export async function collectReply(
  services: Services<'agentRuntime' | 'clock' | 'log' | 'meter' | 'replySettings'>,
  request: Omit<ReplyRequest, 'signal'>,
  {
    emit,
    stop,
    deadline,
  }: { emit: (event: StreamEventBody) => void; stop: AbortController; deadline: number },
): Promise<CollectedReply> {
  const { streamTimeout } = services.replySettings;
  let cancelWatch: Cancel | undefined;
  const watch = (): void => {
    cancelWatch?.();
    cancelWatch = services.clock.after(streamTimeout, () =>
      stop.abort(new ReplyAborted('idle-timeout', 'Stream timed out')),
    );
  };
  const cancelDeadline = services.clock.after(deadline, () =>
    stop.abort(
      new ReplyAborted('deadline', `The reply took longer than ${Math.round(deadline / 1000)} seconds`),
    ),
  );
  const gathered = gatherReply(services.clock, emit);
  const work = services.agentRuntime.reply({ ...request, signal: stop.signal }, (part) => {
    if (stop.signal.aborted) return;
    gathered.collect(part);
    // The first call starts the watch: files that wait for their preparation before it are no silence of the model.
    // Later calls make no event.
    const isCall = part.type === 'call start' || part.type === 'call end';
    if (!isCall || cancelWatch === undefined) watch();
  });
  const modelEnded = work.then(
    () => undefined,
    () => undefined,
  );
  try {
    const { reason, cutShort, incomplete, isWithoutRejected } = await untilAborted(work, stop.signal);
    if (cutShort !== null) gathered.reply.error = failure(cutShort);
    if (reason === 'content-filter') gathered.reply.rejected = 'turn';
    else if (isWithoutRejected) gathered.reply.rejected = 'earlier-turns';
    if (incomplete !== null) {
      gathered.reply.incomplete = incomplete;
      // Tools that the model has called may still run.
      gathered.interrupt(interrupted);
      stop.abort(new ReplyAborted('max-length', 'The reply is long enough'));
    }
    return { reply: gathered.reply, error: undefined, reason, modelEnded };
  } catch (thrown) {
    const error = stop.signal.aborted ? stop.signal.reason : thrown;
    endEarly(services, request, gathered, error);
    stop.abort(error);
    return { reply: gathered.reply, error, reason: undefined, modelEnded };
  } finally {
    services.meter.replied(gathered.reply);
    cancelWatch?.();
    cancelDeadline();
  }
}

/** Ends a reply that its model did not end. Running steps and model calls will have no end of their own. */
function endEarly(
  { log, meter }: Services<'log' | 'meter'>,
  { chat, agent }: Omit<ReplyRequest, 'signal'>,
  { reply, interrupt }: ReturnType<typeof gatherReply>,
  error: unknown,
): void {
  if (error instanceof ReplyAborted && error.kind === 'stopped-by-client') {
    reply.incomplete = 'stopped';
    interrupt(error.message);
    return;
  }
  // Others have its chat or its slot, so nobody waits for this reply.
  const level = error instanceof ReplyAborted && error.kind === 'lease-lost' ? 'warn' : 'error';
  log[level]('A reply was not completed', { chatId: chat?.id, agentId: agent.agentId, error });
  const kind = failureOf(error);
  if (kind !== undefined) meter.modelFailed(agent.definition.llm_model, kind);
  reply.error = failure(textFor(error));
  if (error instanceof ModelFailure && error.isOfContent) reply.rejected = 'turn';
  interrupt(interrupted);
}

/** Whether the model, and no fault of this service, has failed a reply, or has cut its text short. */
export const isFailedByModel = ({ reply, error }: Pick<CollectedReply, 'reply' | 'error'>): boolean =>
  error === undefined ? reply.error !== null : failureOf(error) !== undefined;

/** The aborts that are failures of the model. */
const slowness: Partial<Record<ReplyAborted['kind'], FailureOfModel>> = {
  'idle-timeout': 'stalled',
  deadline: 'slow',
};

/** Undefined if the model did not cause the failure. */
function failureOf(error: unknown): FailureOfModel | undefined {
  if (error instanceof ModelFailure) return error.kind;
  return error instanceof ReplyAborted ? slowness[error.kind] : undefined;
}

function textFor(error: unknown): string {
  if (error instanceof ReplyAborted) return error.message;
  return error instanceof ModelFailure ? modelFailureTexts[error.kind] : 'The reply could not be completed';
}
