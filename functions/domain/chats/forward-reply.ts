import type { StreamEventBody } from '#contract/events.ts';
import { NotStorable, notStored } from '#domain/platform/failures.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { Chat } from './chat.ts';
import {
  failure,
  interrupted,
  type Reply,
  ReplyAborted,
  type RunningReply,
  stopped,
} from './collect-reply.ts';
import { messageId } from './message.ts';
import type { Services } from './services.ts';
import { closeAbandonedTurn, putReply, type SentTurn, type Turn } from './turn.ts';

/**
 * @returns `finished` waits for a renewal in progress: Lambda freezes what runs after the function's end
 */
function renewLeases(
  services: Services<'chats' | 'clock' | 'log' | 'replySettings'>,
  { chat }: Turn,
  stop: AbortController,
): { stop: () => void; finished: () => Promise<unknown> } {
  const { lease } = services.replySettings;
  const underWay = new Set<Promise<void>>();
  const renewOnce = async (): Promise<void> => {
    try {
      const until = services.clock.now().getTime() + lease;
      const isOwner = await services.chats.renewLease(chat, chat.lease.id, until);
      if (!isOwner) stop.abort(new ReplyAborted('lease-lost', interrupted));
    } catch (error) {
      // If all renewals fail, the write of the reply finds out whether another function has closed the turn.
      services.log.warn('A lease was not renewed', { error });
    }
  };
  const cancel = services.clock.every(lease / 3, () => {
    const renewal = renewOnce();
    underWay.add(renewal);
    renewal.finally(() => underWay.delete(renewal));
  });
  return { stop: cancel, finished: () => Promise.all(underWay) };
}

type ReplyStoreServices = Services<
  'chats' | 'clock' | 'log' | 'messages' | 'meter' | 'replyEvents' | 'usage'
>;

/**
 * Never rejects.
 * @returns `reply`: with an error if it could not be stored, or if another function has closed the turn
 */
export async function storeReply(
  services: ReplyStoreServices,
  turn: SentTurn,
  reply: Reply,
): Promise<{ reply: Reply; counted: Promise<void> }> {
  try {
    const stored = await putReply(services, turn, reply);
    const counted = countTurn(services, turn, reply, stored && reply.error === null);
    const { chat, position } = turn;
    const release = () => services.chats.releaseLease(chat, chat.lease.id, position + 1);
    await (stored ? freed(services, chat, release()) : closeTurn(services, turn));
    return { reply: stored ? reply : { ...reply, error: failure(interrupted) }, counted };
  } catch (error) {
    services.log.error('A reply was not stored', { chatId: turn.chat.id, error });
    // Any other error may be temporary, so the turn is not closed here: the chat lease expires.
    if (error instanceof NotStorable) await closeTurn(services, turn, notStored);
    const counted = countTurn(services, turn, reply, false);
    return { reply: { ...reply, error: failure(notStored) }, counted };
  }
}

const countTurn = (
  services: ReplyStoreServices,
  { chat: { workspaceId }, apiKeyId, agent: { agentId } }: SentTurn,
  { calls }: Reply,
  isComplete: boolean,
): Promise<void> =>
  countUsage(services, {
    ...{ workspaceId, apiKeyId, agentId },
    counts: { turns: 1, failedTurns: isComplete ? 0 : 1 },
    calls,
  });

const closeTurn = (services: ReplyStoreServices, { chat }: SentTurn, reason?: string): Promise<void> =>
  freed(services, chat, closeAbandonedTurn(services, chat, reason));

/** A failure is only logged: the lease expires. */
const freed = ({ log }: ReplyStoreServices, { id: chatId }: Chat, freeing: Promise<unknown>): Promise<void> =>
  freeing.then(
    () => undefined,
    (error: unknown) => log.warn('A chat was not freed', { chatId, error }),
  );

/** Gets a reply's events. `emit` never fails, and never waits for a slow client. */
export interface ReplySink {
  emit(event: StreamEventBody): void;
  /** For a resumable reply, resolves when the first write of its events has ended or failed; else at once. */
  started(): Promise<void>;
  done(): void | Promise<void>;
}

/**
 * Also renews the chat lease, and watches for a stop.
 * @param onText called for each text delta, after it was forwarded
 * @returns `renewed`: the caller waits for it before its function ends
 */
export async function forwardReply(
  services: Services<'chats' | 'clock' | 'log' | 'replySettings' | 'stops'>,
  turn: Turn,
  running: RunningReply,
  { emit }: Pick<ReplySink, 'emit'>,
  onText: () => void,
): Promise<{ reply: Reply; renewed: Promise<unknown> }> {
  emit({
    type: 'response.created',
    message_id: messageId(turn.chat.id, turn.position + 1),
    agent_id: turn.agent.agentId,
    model: turn.agent.definition.llm_model,
  });
  const renewal = renewLeases(services, turn, running.stop);
  const unwatch = services.stops.watch(turn.chat, turn.chat.lease.id, () =>
    running.stop.abort(new ReplyAborted('stopped-by-client', stopped)),
  );
  running.forwardTo((event) => {
    emit(event);
    if (event.type === 'response.output_text.delta') onText();
  });
  const { reply } = await running.completed;
  renewal.stop();
  return { reply, renewed: Promise.all([renewal.finished(), unwatch()]) };
}
