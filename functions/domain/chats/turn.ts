import { ServiceError } from '#contract/errors.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { type Chat, type Lease, responseIdIn } from './chat.ts';
import type { LeaseRequest } from './chat-store.ts';
import { requireOwnChat } from './check-send.ts';
import { type CloseTurnServices, closeAbandonedTurn } from './close-abandoned-turn.ts';
import type { Reply } from './gather-reply.ts';
import { type AssistantMessage, lastPosition, type Message, type UserMessage } from './message.ts';
import { readHistory } from './read-history.ts';
import { rejectedTurnsOf } from './rejected-turns.ts';
import type { Services } from './services.ts';

type LeasedChat = Chat & { lease: Lease };

/** A user message and the reply to it, while this function owns the lease of their chat. */
export interface Turn {
  chat: LeasedChat;
  agent: AgentVersion;
  /** Position of the user message. The reply has the next position. */
  position: number;
  message: string;
  attachments: StoredFile[];
  /** Earlier messages, oldest first. */
  history: Message[];
}

/** A turn that a client has sent. */
export interface SentTurn extends Turn {
  apiKeyId: string;
  makesTitle: boolean;
}

export interface TurnRequest {
  workspaceId: string;
  chatId: number;
  agent: AgentVersion;
  externalUserId: string | undefined;
  message: string;
  attachments: StoredFile[];
  /** Id of the chat lease. All attempts of one request of a batch have the same. */
  leaseId: string;
  /** Length of the chat lease. */
  milliseconds: number;
  /** As of `LeaseRequest`. */
  request?: LeaseRequest['request'];
  /** The chat, if it was created under the lease. */
  newChat?: Chat | null;
}

/** The turn that an earlier request with the same id has started, by the position of its user message. */
export interface PreviousTurn {
  startedAt: number;
}

type OpenServices = CloseTurnServices & Services<'messages' | 'replySettings'>;

/** An attempt to acquire a chat lease fails if it has to close an abandoned turn first. The next one usually succeeds. */
const attempts = 5;

/**
 * Acquires the lease of the chat, and reads its history concurrently: one round trip. Closes an abandoned turn that is in
 * the way. A lease with the same id is prolonged.
 * @returns `in-progress` if another turn owns the chat
 * @throws `Chat not found`, `Agent mismatch`, badRequest if the chat is full
 */
export async function openTurn(
  services: OpenServices,
  given: TurnRequest,
): Promise<Turn | PreviousTurn | 'in-progress'> {
  const { agent, message, attachments, workspaceId, chatId } = given;
  const leasing = leaseChat(services, given);
  const messageCount = leasing.then((leased) => (hasLease(leased) ? leased.messageCount : 0));
  // The history may fail before it waits for the count. The error of the lease is thrown below.
  messageCount.catch(() => undefined);
  const [leased, read] = await Promise.allSettled([
    leasing,
    readHistory(services, agent, { workspaceId, id: chatId }, given.newChat ? 0 : messageCount),
  ]);
  if (leased.status === 'rejected') throw leased.reason;
  const chat = leased.value;
  if (!hasLease(chat)) return chat;
  const position = chat.messageCount + 1;
  const isFull = position + 1 > lastPosition;
  if (read.status === 'rejected' || isFull) {
    // If the release fails, the lease expires.
    await services.chats.releaseLease(chat, chat.lease.id, chat.messageCount).catch(() => undefined);
    if (read.status === 'rejected') throw read.reason;
    throw new ServiceError('badRequest', `The chat is full: it holds ${lastPosition - 1} messages`);
  }
  return { chat, agent, position, message, attachments, history: read.value };
}

const hasLease = (leased: LeasedChat | PreviousTurn | 'in-progress'): leased is LeasedChat =>
  typeof leased === 'object' && 'lease' in leased;

/** The chat with its lease. */
async function leaseChat(
  services: OpenServices,
  given: TurnRequest,
): Promise<LeasedChat | PreviousTurn | 'in-progress'> {
  const { workspaceId, chatId, externalUserId, leaseId, milliseconds, request, newChat } = given;
  const { agentId } = given.agent;
  if (newChat?.lease) return { ...newChat, lease: newChat.lease };
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const now = services.clock.now();
    const lease: Lease = { id: leaseId, until: now.getTime() + milliseconds };
    const result = await services.chats.takeLease({
      ...{ workspaceId, chatId, agentId, externalUserId, lease, request },
      now: now.toISOString(),
    });
    if (result.taken) return { ...result.chat, lease };
    const chat = requireOwnChat(result.chat, { agentId, externalUserId });
    if (chat.lease !== null && chat.lease.until > now.getTime()) return 'in-progress';
    if (chat.lease === null && result.startedAt !== undefined) return { startedAt: result.startedAt };
    await closeAbandonedTurn(services, chat);
  }
  return 'in-progress';
}

/** The messages of the turn at a position of the chat, as far as they are stored. */
export async function turnAt(
  { messages }: Services<'messages'>,
  chat: Pick<Chat, 'workspaceId' | 'id'>,
  position: number,
): Promise<{ user: UserMessage | undefined; reply: AssistantMessage | undefined }> {
  const pages = messages.range(chat, { first: position, last: position + 1, ascending: true });
  const found = (await Array.fromAsync(pages)).flat().map(({ message }) => message);
  return {
    user: found.find((message) => message.role === 'user'),
    reply: found.find((message) => message.role === 'assistant'),
  };
}

type StoreServices = Services<'chats' | 'clock' | 'messages'>;

/**
 * Stores the turn of a request of a batch: message, reply, and the release of the chat lease. It may be repeated, by any
 * attempt.
 * @returns the reply to which the chat has the same message: this one, or that of another attempt; undefined if another
 *   turn has the position
 */
export async function storeTurn(
  services: StoreServices,
  turn: Turn,
  reply: Reply,
): Promise<AssistantMessage | Reply | undefined> {
  const { chat, position, message: content, attachments } = turn;
  const createdAt = services.clock.now().toISOString();
  const user: UserMessage = {
    role: 'user',
    position,
    content,
    attachments,
    createdAt,
    turnId: chat.lease.id,
  };
  const isFirst = await services.messages.put(chat, user);
  if (!isFirst && (await turnAt(services, chat, position)).user?.turnId !== chat.lease.id) return undefined;
  const isStored = await putReply(services, turn, reply);
  const other = isStored ? undefined : (await turnAt(services, chat, position)).reply;
  await services.chats.releaseLease(chat, chat.lease.id, position + 1);
  return other ?? reply;
}

/** Stores a reply. False if the position has another one. */
export const putReply = async (
  services: Pick<StoreServices, 'clock' | 'messages'>,
  turn: Turn,
  reply: Reply,
): Promise<boolean> =>
  services.messages.put(turn.chat, {
    role: 'assistant',
    position: turn.position + 1,
    content: reply.content,
    createdAt: services.clock.now().toISOString(),
    agentVersionId: turn.agent.id,
    reasoningSteps: reply.reasoningSteps,
    tokenUsage: reply.usage,
    error: reply.error,
    incomplete: reply.incomplete,
    ...responseIdIn(turn.chat.lease),
    ...(await rejectedTurnsOf(services, turn, reply)),
  });
