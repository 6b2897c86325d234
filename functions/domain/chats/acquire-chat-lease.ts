import { replyInProgress, ServiceError } from '#contract/errors.ts';
import type { AgentServices } from '#domain/agents/services.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { type Chat, type Lease, newLeaseId } from './chat.ts';
import type { LeaseRequest } from './chat-store.ts';
import { type CheckedSend, requireOwnChat, requirePublishedAgent } from './check-send.ts';
import { closeAbandonedTurn } from './close-abandoned-turn.ts';
import { lastPosition } from './message.ts';
import { readHistory } from './read-history.ts';
import type { ChatServices } from './services.ts';
import type { Turn } from './turn.ts';

type AcquireServices = Pick<ChatServices, 'chats' | 'messages' | 'replyEvents' | 'replySettings'> &
  Pick<AgentServices, 'agents'> &
  Pick<PlatformServices, 'clock' | 'identifiers'>;

type LeasedChat = Chat & { lease: Lease };

/** The turn that an earlier request with the same id has started, by the position of its user message. */
export interface PreviousTurn {
  startedAt: number;
}

/**
 * Acquires the lease of the chat, and reads its history concurrently: one round trip.
 * @returns `retry` after an abandoned turn was in the way and has been closed
 * @throws `Chat not found`, `Agent mismatch`, `A reply is already in progress for this chat`, badRequest if the chat is
 *   full
 */
export const acquireChatLease =
  (services: AcquireServices) =>
  async (
    checked: CheckedSend,
    request: NonNullable<LeaseRequest['request']>,
  ): Promise<Turn | PreviousTurn | 'retry'> => {
    const agent = await requirePublishedAgent(services)(checked);
    const leasing = leaseChat(services, checked, request);
    const messageCount = leasing.then((leased) =>
      leased !== 'retry' && 'messageCount' in leased ? leased.messageCount : 0,
    );
    const [leased, read] = await Promise.allSettled([
      leasing,
      readHistory(services)(agent, { workspaceId: checked.workspaceId, id: checked.chatId }, messageCount),
    ]);
    if (leased.status === 'rejected') throw leased.reason;
    const chat = leased.value;
    if (chat === 'retry' || 'startedAt' in chat) return chat;
    if (read.status === 'rejected') {
      // If the release fails, the lease expires.
      await services.chats.releaseLease(chat, chat.lease.id, chat.messageCount).catch(() => undefined);
      throw read.reason;
    }
    const position = chat.messageCount + 1;
    if (position + 1 > lastPosition) {
      await services.chats.releaseLease(chat, chat.lease.id, chat.messageCount);
      throw new ServiceError('badRequest', `The chat is full: it holds ${lastPosition - 1} messages`);
    }
    return {
      apiKeyId: checked.apiKeyId,
      chat,
      lease: chat.lease,
      agent,
      position,
      message: checked.message,
      attachments: checked.attachments,
      history: read.value,
      makesTitle: position === 1 && checked.workspace.titlesEnabled,
    };
  };

/** The chat with its new lease. */
async function leaseChat(
  services: AcquireServices,
  checked: CheckedSend,
  request: NonNullable<LeaseRequest['request']>,
): Promise<LeasedChat | PreviousTurn | 'retry'> {
  const now = services.clock.now();
  const lease: Lease = {
    id: newLeaseId(services.identifiers.uuid(), checked),
    until: now.getTime() + services.replySettings.lease,
  };
  const { workspaceId, chatId, agentId, externalUserId } = checked;
  const result = await services.chats.takeLease({
    ...{ workspaceId, chatId, agentId, externalUserId, lease, request },
    now: now.toISOString(),
  });
  if (result.taken) return { ...result.chat, lease };
  const chat = requireOwnChat(result.chat, checked);
  if (chat.lease !== null && chat.lease.until > now.getTime()) throw replyInProgress();
  if (chat.lease === null && result.startedAt !== undefined) return { startedAt: result.startedAt };
  await closeAbandonedTurn(services)(chat);
  return 'retry';
}
