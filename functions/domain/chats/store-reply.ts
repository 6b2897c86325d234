import { NotStorable, notStored } from '#domain/platform/not-storable.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { Chat } from './chat.ts';
import { closeAbandonedTurn } from './close-abandoned-turn.ts';
import { failure } from './collect-reply.ts';
import { interrupted, type Reply } from './gather-reply.ts';
import type { Services } from './services.ts';
import { putReply, type SentTurn } from './turn.ts';

type StoreServices = Services<'chats' | 'clock' | 'log' | 'messages' | 'meter' | 'replyEvents' | 'usage'>;

/**
 * Stores the reply, complete or not; then releases the chat lease and counts the usage concurrently.
 * @returns `reply`: the reply as the history has it now: with an error if it could not be stored, or if another
 *   function has closed the turn; `counted` never rejects
 */
export async function storeReply(
  services: StoreServices,
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
    // Any other error may be temporary, so the turn is not closed here: the chat lease expires, and the next send
    // closes the turn.
    if (error instanceof NotStorable) await closeTurn(services, turn, notStored);
    const counted = countTurn(services, turn, reply, false);
    return { reply: { ...reply, error: failure(notStored) }, counted };
  }
}

/** The model was called, so the turn counts also if its reply failed. */
const countTurn = (
  services: StoreServices,
  { chat: { workspaceId }, apiKeyId, agent: { agentId } }: SentTurn,
  { calls }: Reply,
  isComplete: boolean,
): Promise<void> =>
  countUsage(services, {
    ...{ workspaceId, apiKeyId, agentId },
    counts: { turns: 1, failedTurns: isComplete ? 0 : 1 },
    calls,
  });

const closeTurn = (services: StoreServices, { chat }: SentTurn, reason?: string): Promise<void> =>
  freed(services, chat, closeAbandonedTurn(services, chat, reason));

/** If it fails, the chat is released later all the same: the lease expires, and the next send closes the turn. */
const freed = ({ log }: StoreServices, { id: chatId }: Chat, freeing: Promise<unknown>): Promise<void> =>
  freeing.then(
    () => undefined,
    (error: unknown) => log.warn('A chat was not freed', { chatId, error }),
  );
