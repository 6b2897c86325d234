import { errorTable } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { ReplyError } from '#contract/message.ts';
import type { Turn } from './begin-turn.ts';
import { gatherReply, interrupted, type Reply } from './gather-reply.ts';
import { ModelFailure, modelFailureTexts } from './model-failure.ts';
import { nameChat } from './name-chat.ts';
import type { Services } from './services.ts';
import { settleTurn } from './settle-turn.ts';
import { untilAborted } from './until-aborted.ts';

type AnswerServices = Pick<
  Services,
  'agentRuntime' | 'chats' | 'clock' | 'log' | 'messages' | 'replySettings'
>;

/** How long a title that is not ready by the end of the reply may hold the stream open, milliseconds. */
const titleGrace = 2000;

/**
 * Asks the model, passes on what it says as it says it, and stores the reply, whole or not. Resolves when nothing is
 * left to do: the reply is stored, the chat is free, the title is written or given up.
 * @param emit takes each event at once and never fails: a reader that is gone or slow delays nothing.
 * @param done called when everything that will be told has been.
 * @param deadline milliseconds that the model may take in all.
 */
export const answerTurn =
  (services: AnswerServices) =>
  async (
    turn: Turn,
    { emit, done }: { emit: (event: StreamEventBody) => void; done: () => void },
    deadline: number,
  ): Promise<Reply> => {
    emit({ type: 'response.created', agent_id: turn.agent.agentId, model: turn.agent.definition.llm_model });
    const giveUpTitle = new AbortController();
    const title = nameChat(services)(turn, emit, giveUpTitle.signal);

    const stop = new AbortController();
    const lease = keepLease(services, turn, stop);
    const collected = await collectReply(services, turn, { emit, stop, deadline });
    lease.stop();
    const reply = await storeReply(services, turn, collected);
    if (reply.error === null)
      emit({ type: 'response.output_text.completed', final_text: reply.content, usage: reply.usage });
    else emit({ type: 'response.error', ...reply.error });

    const cancelGrace = services.clock.after(titleGrace, () => giveUpTitle.abort());
    await untilAborted(title, giveUpTitle.signal).catch(() => undefined);
    cancelGrace();
    done();
    await Promise.all([title, lease.settled()]);
    return reply;
  };

/** Ends a reply from outside the model, with a reason that clients may read. */
class Interruption extends Error {
  override readonly name = 'Interruption';
}

const failure = (message: string): ReplyError => ({ code: errorTable.serverError.errorCode, message });

async function collectReply(
  services: AnswerServices,
  turn: Turn,
  {
    emit,
    stop,
    deadline,
  }: { emit: (event: StreamEventBody) => void; stop: AbortController; deadline: number },
): Promise<Reply> {
  const interrupt = (message: string) => stop.abort(new Interruption(message));
  const { streamTimeout } = services.replySettings;
  const watch = () => services.clock.after(streamTimeout, () => interrupt('Stream timed out'));
  let cancelWatch = watch();
  const cancelDeadline = services.clock.after(deadline, () =>
    interrupt(`The reply took longer than ${Math.round(deadline / 1000)} seconds`),
  );

  const gathered = gatherReply(services.clock, emit);
  try {
    const { cutShort } = await untilAborted(
      services.agentRuntime.reply(
        {
          agent: turn.agent,
          chat: turn.chat,
          history: turn.history,
          message: turn.message,
          signal: stop.signal,
        },
        (part) => {
          if (stop.signal.aborted) return;
          gathered.hear(part);
          // Usage is told to no client.
          if (part.type === 'usage') return;
          cancelWatch();
          cancelWatch = watch();
        },
      ),
      stop.signal,
    );
    if (cutShort !== null) gathered.reply.error = failure(cutShort);
  } catch (thrown) {
    const error = stop.signal.aborted ? stop.signal.reason : thrown;
    services.log.error('A reply was not completed', {
      chatId: turn.chat.id,
      agentId: turn.agent.agentId,
      error,
    });
    gathered.reply.error = failure(textFor(error));
    // What is still under way when a reply is aborted, or when the model fails beside it, has no end of its own.
    gathered.endOpenSteps();
    stop.abort(error);
  } finally {
    cancelWatch();
    cancelDeadline();
  }
  return gathered.reply;
}

function textFor(error: unknown): string {
  if (error instanceof Interruption) return error.message;
  return modelFailureTexts[error instanceof ModelFailure ? error.kind : 'failed'];
}

/**
 * Renews the lease at a third of its time until it is stopped, and ends the reply when the lease is lost.
 * @returns `settled` waits for a renewal that is under way: none may go on behind the function's end.
 */
function keepLease(
  services: AnswerServices,
  turn: Turn,
  stop: AbortController,
): { stop: () => void; settled: () => Promise<unknown> } {
  const { lease } = services.replySettings;
  const underWay = new Set<Promise<void>>();
  const renew = async (): Promise<void> => {
    try {
      const until = services.clock.now().getTime() + lease;
      const held = await services.chats.renewLease(turn.chat, turn.lease.id, until);
      if (!held) stop.abort(new Interruption(interrupted));
    } catch (error) {
      // The next renewal makes up for a failed one; if all fail, the lease is found lost when the reply is stored.
      services.log.warn('A lease was not renewed', { chatId: turn.chat.id, error });
    }
  };
  const cancel = services.clock.every(lease / 3, () => {
    const renewal = renew();
    underWay.add(renewal);
    renewal.finally(() => underWay.delete(renewal));
  });
  return { stop: cancel, settled: () => Promise.all(underWay) };
}

/** The reply as it now stands in the history: with an error when it could not be stored or the turn was taken away. */
async function storeReply(services: AnswerServices, turn: Turn, reply: Reply): Promise<Reply> {
  try {
    const stored = await services.messages.put(turn.chat, {
      role: 'assistant',
      position: turn.position + 1,
      content: reply.content,
      createdAt: services.clock.now().toISOString(),
      agentVersionId: turn.agent.id,
      reasoningSteps: reply.reasoningSteps,
      tokenUsage: reply.usage,
      error: reply.error,
    });
    await freeChat(services, turn, stored);
    return stored ? reply : { ...reply, error: failure(interrupted) };
  } catch (error) {
    services.log.error('A reply was not stored', { chatId: turn.chat.id, error });
    return { ...reply, error: failure('The reply could not be stored') };
  }
}

async function freeChat(services: AnswerServices, turn: Turn, stored: boolean): Promise<void> {
  try {
    if (stored) await services.chats.releaseLease(turn.chat, turn.lease.id, turn.position + 1);
    else await settleTurn(services)({ ...turn.chat, lease: turn.lease });
  } catch (error) {
    // The reply stands; the lease runs out and the next sender settles the turn.
    services.log.warn('A chat was not freed', { chatId: turn.chat.id, error });
  }
}
