import { errorTable } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { ReplyError } from '#contract/message.ts';
import type { FailureOfModel } from '#domain/platform/meter.ts';
import { ModelFailure, modelFailureTexts } from '#domain/platform/model-failure.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import type { ReplyRequest } from './agent-runtime.ts';
import { gatherReply, type Reply } from './gather-reply.ts';
import type { ChatServices } from './services.ts';

/**
 * Ends a reply from outside the model, with a reason that clients may read: `stall` when the model was silent for too
 * long, `slow` when it took too long in all, `lost` when someone else has taken over, `cut` when it is as long as it may be.
 */
export class ReplyAborted extends Error {
  override readonly name = 'Interruption';
  readonly kind: 'stall' | 'slow' | 'lost' | 'cut';

  constructor(kind: ReplyAborted['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export const failure = (message: string): ReplyError => ({ code: errorTable.serverError.errorCode, message });

/**
 * Asks the model, passes on what it says as it says it, and gives it up when it is silent for too long or takes too
 * long in all.
 * @param stop aborts what is under way, and is aborted when the reply fails
 * @param deadline milliseconds that the model may take in all
 * @returns the reply, whole or not, and what it failed with when the model did not end it
 */
export const collectReply =
  (
    services: Pick<ChatServices, 'agentRuntime' | 'replySettings'> &
      Pick<PlatformServices, 'clock' | 'log' | 'meter'>,
  ) =>
  async (
    request: Omit<ReplyRequest, 'signal'>,
    {
      emit,
      stop,
      deadline,
    }: { emit: (event: StreamEventBody) => void; stop: AbortController; deadline: number },
  ): Promise<{ reply: Reply; error: unknown }> => {
    const { streamTimeout } = services.replySettings;
    const watch = () =>
      services.clock.after(streamTimeout, () => stop.abort(new ReplyAborted('stall', 'Stream timed out')));
    let cancelWatch = watch();
    const cancelDeadline = services.clock.after(deadline, () =>
      stop.abort(
        new ReplyAborted('slow', `The reply took longer than ${Math.round(deadline / 1000)} seconds`),
      ),
    );
    const gathered = gatherReply(services.clock, emit);
    try {
      const { cutShort, incomplete } = await untilAborted(
        services.agentRuntime.reply({ ...request, signal: stop.signal }, (part) => {
          if (stop.signal.aborted) return;
          gathered.collect(part);
          // Calls are told to no client.
          if (part.type === 'call start' || part.type === 'call end') return;
          cancelWatch();
          cancelWatch = watch();
        }),
        stop.signal,
      );
      if (cutShort !== null) gathered.reply.error = failure(cutShort);
      if (incomplete !== null) {
        gathered.reply.incomplete = incomplete;
        // Tools that the model has called are under way.
        gathered.interrupt();
        stop.abort(new ReplyAborted('cut', 'The reply is long enough'));
      }
      return { reply: gathered.reply, error: undefined };
    } catch (thrown) {
      const error = stop.signal.aborted ? stop.signal.reason : thrown;
      services.log.error('A reply was not completed', {
        chatId: request.chat.id,
        agentId: request.agent.agentId,
        error,
      });
      const kind = failureOf(error);
      if (kind !== undefined) services.meter.modelFailed(request.agent.definition.llm_model, kind);
      gathered.reply.error = failure(textFor(error));
      // What is still under way when a reply is aborted, or when the model fails beside it, has no end of its own.
      gathered.interrupt();
      stop.abort(error);
      return { reply: gathered.reply, error };
    } finally {
      services.meter.replied(gathered.reply);
      cancelWatch();
      cancelDeadline();
    }
  };

/** Undefined when someone else has taken over, which is not the model's failure. */
function failureOf(error: unknown): FailureOfModel | undefined {
  if (!(error instanceof ReplyAborted)) return error instanceof ModelFailure ? error.kind : 'failed';
  return ({ stall: 'stalled', slow: 'slow', lost: undefined, cut: undefined } as const)[error.kind];
}

function textFor(error: unknown): string {
  if (error instanceof ReplyAborted) return error.message;
  return modelFailureTexts[error instanceof ModelFailure ? error.kind : 'failed'];
}
