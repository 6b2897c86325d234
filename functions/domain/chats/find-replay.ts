import { chatNotFound, replyInProgress } from '#contract/errors.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { isResumable, type Lease, newLeaseId, responseIdOf } from './chat.ts';
import { type CheckedSend, requirePublishedAgent } from './check-send.ts';
import { closeAbandonedTurn } from './close-abandoned-turn.ts';
import type { AssistantMessage } from './message.ts';
import { readHistory } from './read-history.ts';
import type { Services } from './services.ts';
import { type SentTurn, turnAt } from './turn.ts';

type ReplayServices = Services<
  'agents' | 'chats' | 'clock' | 'identifiers' | 'messages' | 'replyEvents' | 'replySettings'
>;

/** A resumable reply that is running: its events are stored. */
export interface LiveReply {
  responseId: string;
}

/** The stored reply of a repeated send. */
export interface StoredReply {
  reply: AssistantMessage;
  /** The agent as it is now; undefined if it has no published version any more. */
  agent: AgentVersion | undefined;
}

/**
 * Finds what an earlier request with the same idempotency key has started: its reply if there is one, complete or not;
 * a resumable reply that is running; or the turn under a new chat lease, if the function that owned it has died. The
 * user message is stored already, so nothing is stored twice.
 * @returns `retry` if another function has changed the turn since it was read
 * @throws `Chat not found` if the chat was deleted; `A reply is already in progress for this chat` while the other
 *   function owns the chat lease, and its reply is not resumable
 */
export async function findReplay(
  services: ReplayServices,
  checked: CheckedSend,
  { chatId, position }: NonNullable<CheckedSend['previous']>,
): Promise<StoredReply | LiveReply | { turn: SentTurn } | 'retry'> {
  const { workspace, apiKeyId } = checked;
  const chat = await services.chats.get(workspace.id, chatId);
  if (chat === undefined) throw chatNotFound();
  const { user, reply } = await turnAt(services, chat, position);
  // A purge may have deleted it since the chat was read.
  if (user === undefined && (await services.chats.get(chat.workspaceId, chat.id)) === undefined)
    throw chatNotFound();
  if (user === undefined) throw new Error(`A message of chat ${chat.id} of an idempotency record is missing`);
  if (reply !== undefined) return { reply, agent: checked.publishedAgent };
  const now = services.clock.now().getTime();
  const isOpen = chat.messageCount === position - 1;
  if (chat.lease !== null && chat.lease.until > now) {
    if (isOpen && isResumable(chat.lease)) return { responseId: responseIdOf(chat.lease) };
    throw replyInProgress();
  }
  if (chat.lease?.isStopped) {
    await closeAbandonedTurn(services, chat);
    return 'retry';
  }
  const agent = await requirePublishedAgent(services, checked);
  const history = await readHistory(services, agent, chat, position - 1);
  const lease: Lease = {
    id: newLeaseId(services.identifiers.uuid(), checked),
    until: now + services.replySettings.lease,
  };
  if (!isOpen || !(await services.chats.takeOverLease(chat, lease))) return 'retry';
  return {
    turn: {
      apiKeyId,
      chat: { ...chat, lease },
      agent,
      position,
      message: user.content,
      attachments: user.attachments,
      history,
      makesTitle: position === 1 && workspace.titlesEnabled,
    },
  };
}
