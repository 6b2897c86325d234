import type { StreamEventBody } from '#contract/events.ts';
import { NotStorable, notStored } from '#domain/platform/not-storable.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import { closeAbandonedTurn } from './close-abandoned-turn.ts';
import { failure } from './collect-reply.ts';
import { interrupted, type Reply } from './gather-reply.ts';
import { messageId } from './message.ts';
import { nameChat } from './name-chat.ts';
import { renewLeases } from './renew-leases.ts';
import type { ChatServices } from './services.ts';
import type { RunningReply } from './start-reply.ts';
import type { Turn } from './turn.ts';

type ForwardServices = Pick<ChatServices, 'agentRuntime' | 'chats' | 'messages' | 'replySettings'> &
  Pick<WorkspaceServices, 'usage'> &
  Pick<PlatformServices, 'clock' | 'log' | 'meter'>;

/** How long a title that is not ready by the end of the reply is waited for, milliseconds. */
const titleGrace = 2000;

/**
 * Passes on what the model says as it says it, and stores the reply, whole or not. The chat's title is begun with the
 * first text: a reply that fails before it names nothing.
 * @param emit takes each event at once and never fails: a reader that is gone or slow delays nothing.
 * @param done called when everything that will be told has been.
 * @param asked the reply that the model has been asked for.
 * @returns the reply when it is stored and the chat is free; `settled` resolves when the title is written or given up
 */
export const forwardReply =
  (services: ForwardServices) =>
  async (
    turn: Turn,
    { emit, done }: { emit: (event: StreamEventBody) => void; done: () => void },
    running: RunningReply,
  ): Promise<{ reply: Reply; finished: Promise<void> }> => {
    const message_id = messageId(turn.chat.id, turn.position + 1);
    emit({
      type: 'response.created',
      message_id,
      agent_id: turn.agent.agentId,
      model: turn.agent.definition.llm_model,
    });
    const abortTitle = new AbortController();
    let title: Promise<void> | undefined;
    const startTitle = (): void => {
      title ??= nameChat(services)(turn, running.budget, emit, abortTitle.signal);
    };

    const lease = renewLeases(
      services,
      (until) => services.chats.renewLease(turn.chat, turn.lease.id, until),
      running.stop,
    );
    running.forwardTo((event) => {
      emit(event);
      if (event.type === 'response.output_text.delta') startTitle();
    });
    const { reply: collected } = await running.collected;
    lease.stop();
    const reply = await storeReply(services, turn, collected);
    if (reply.error === null) {
      // A form is an answer without a text.
      startTitle();
      emit({
        type: 'response.output_text.completed',
        message_id,
        final_text: reply.content,
        usage: reply.usage,
        ...(reply.incomplete !== null && { incomplete: reply.incomplete }),
      });
    } else emit({ type: 'response.error', ...reply.error });

    const finish = async (): Promise<void> => {
      const cancelGrace = services.clock.after(titleGrace, () => abortTitle.abort());
      await untilAborted(Promise.resolve(title), abortTitle.signal).catch(() => undefined);
      cancelGrace();
      done();
      await Promise.all([title, lease.finished()]);
    };
    return { reply, finished: finish() };
  };

/** The reply as it now stands in the history: with an error when it could not be stored or the turn was taken away. */
async function storeReply(services: ForwardServices, turn: Turn, reply: Reply): Promise<Reply> {
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
      incomplete: reply.incomplete,
    });
    await Promise.all([
      releaseChat(services, turn, stored),
      countTurn(services, turn, reply, stored && reply.error === null),
    ]);
    return stored ? reply : { ...reply, error: failure(interrupted) };
  } catch (error) {
    services.log.error('A reply was not stored', { chatId: turn.chat.id, error });
    // One that may be stored later is left to the lease: the next sender settles the turn when it has run out.
    if (error instanceof NotStorable) await releaseChat(services, turn, false, notStored);
    await countTurn(services, turn, reply, false);
    return { ...reply, error: failure(notStored) };
  }
}

/** The model was asked, whatever became of the reply. */
const countTurn = (
  services: ForwardServices,
  { chat: { workspaceId }, apiKeyId, agent: { agentId } }: Turn,
  { calls }: Reply,
  isWhole: boolean,
): Promise<void> =>
  countUsage(services)({
    ...{ workspaceId, apiKeyId, agentId },
    counts: { turns: 1, failedTurns: isWhole ? 0 : 1 },
    calls,
  });

async function releaseChat(
  services: ForwardServices,
  turn: Turn,
  stored: boolean,
  reason?: string,
): Promise<void> {
  try {
    if (stored) await services.chats.releaseLease(turn.chat, turn.lease.id, turn.position + 1);
    else await closeAbandonedTurn(services)({ ...turn.chat, lease: turn.lease }, reason);
  } catch (error) {
    // The reply stands; the lease runs out and the next sender settles the turn.
    services.log.warn('A chat was not freed', { chatId: turn.chat.id, error });
  }
}
