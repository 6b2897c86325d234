import { errorTable, ServiceError } from '#contract/errors.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/files.ts';
import {
  type Chat,
  type ChatKey,
  type ChatOfUser,
  isResumable,
  type Lease,
  type LeaseRequest,
  responseIdIn,
  responseIdOf,
} from './chat.ts';
import { requireOwnChat } from './check-send.ts';
import { interrupted, type Reply } from './collect-reply.ts';
import { readHistory, storedText } from './history.ts';
import {
  type AssistantMessage,
  isReplyPosition,
  lastPosition,
  type Message,
  noUsage,
  type UserMessage,
} from './message.ts';
import type { ReplyForm } from './reply-form.ts';
import type { ChatServices, Services } from './services.ts';

export interface CloseTurnServices extends Services<'chats' | 'clock' | 'replyEvents'> {
  messages: Pick<ChatServices['messages'], 'putAndRelease'>;
}

/**
 * Stores a reply if the user message is stored and has none, and releases the chat lease. Several functions, and the
 * owner of the lease, may do so concurrently: each write of closeAbandonedTurn to the table has the condition that the
 * chat still has the given lease, or has none and the same count.
 * @param reason error message of the reply, unless a client has stopped it. With the default, the reply has the text of
 *   its stored events, if it is resumable; otherwise none
 */
export async function closeAbandonedTurn(
  services: CloseTurnServices,
  chat: Chat,
  reason = interrupted,
): Promise<void> {
  const { lease } = chat;
  if (lease === null) return;
  const reply = { workspaceId: chat.workspaceId, chatId: chat.id, responseId: responseIdOf(lease) };
  const content = async () =>
    reason === interrupted && isResumable(lease) ? storedText(services, reply) : '';
  while (!(await closeOnce(services, chat, lease, { content, ...endOf(lease, reason) })));
}

async function closeOnce(
  services: CloseTurnServices,
  chat: Chat,
  lease: Lease,
  { content, ...end }: { content: () => Promise<string> } & Pick<AssistantMessage, 'error' | 'incomplete'>,
): Promise<boolean> {
  const position = chat.messageCount + 2;
  const turn = await services.chats.openTurn(chat);
  if (!turn.user || turn.reply) {
    await services.chats.releaseLease(chat, lease.id, turn.user ? position : chat.messageCount);
    // A function that had lost the lease may have stored its turn meanwhile.
    if (!turn.user && (await services.chats.openTurn(chat)).reply)
      await services.chats.releaseLease(chat, lease.id, position);
    return true;
  }
  const outcome = await services.messages.putAndRelease(chat, lease.id, {
    ...{ role: 'assistant', position, content: await content() },
    createdAt: services.clock.now().toISOString(),
    ...{ agentVersionId: null, reasoningSteps: [], tokenUsage: noUsage },
    ...end,
    ...responseIdIn(lease),
  });
  return outcome !== 'position-taken';
}

const endOf = (lease: Lease, reason: string): Pick<AssistantMessage, 'error' | 'incomplete'> =>
  lease.isStopped
    ? { error: null, incomplete: 'stopped' }
    : { error: { code: errorTable.serverError.errorCode, message: reason }, incomplete: null };

async function rejectedTurnsOf(
  { messages }: Services<'messages'>,
  { chat, position }: { chat: Chat; position: number },
  { rejected }: Reply,
): Promise<Pick<AssistantMessage, 'rejectedTurns'>> {
  if (rejected === null) return {};
  if (rejected === 'earlier-turns') return { rejectedTurns: 0 };
  let rejectedTurns = 1;
  const previous = { first: position - 1, last: position - 1, ascending: true };
  for await (const page of messages.range(chat, previous))
    for (const { message } of page)
      if (message.role === 'assistant') rejectedTurns += message.rejectedTurns ?? 0;
  return { rejectedTurns };
}

/**
 * Returns a function that decides for each message of a chat, newest first, whether prompts contain it. The decision
 * depends on the number of consecutive turns that the provider rejected.
 * - Odd: prompts contain none of these turns. One image that no model reads must not end the chat.
 * - Even: prompts contain all of them, unless the next turn was accepted only without them. The last one was rejected
 *   without the turns before it, so the reason may be another one, such as a wrong key that a provider answers with
 *   status 400.
 */
export function promptFilter(): (message: Pick<Message, 'position'> & { rejectedTurns?: number }) => boolean {
  let firstOfRun = Number.POSITIVE_INFINITY;
  let isInPrompt = true;
  let isNextWithout = false;
  return ({ position, rejectedTurns }) => {
    if (position >= firstOfRun) return isInPrompt;
    const turns = rejectedTurns ?? 0;
    isInPrompt = turns === 0 || (turns % 2 === 0 && !isNextWithout);
    firstOfRun = position + 1 - 2 * turns;
    if (isReplyPosition(position)) isNextWithout = rejectedTurns === 0;
    return isInPrompt;
  };
}

type LeasedChat = Chat & { lease: Lease };

/** A user message and its reply, while this function owns the chat lease. */
export interface Turn {
  chat: LeasedChat;
  agent: AgentVersion;
  /** Position of the user message. The reply has the next position. */
  position: number;
  message: string;
  attachments: StoredFile[];
  history: Message[];
  form?: ReplyForm | undefined;
}

export interface SentTurn extends Turn {
  apiKeyId: string;
  makesTitle: boolean;
}

interface TurnRequest extends ChatOfUser, Pick<Turn, 'agent' | 'message' | 'attachments'> {
  leaseId: string;
  /** Length of the chat lease, in milliseconds. */
  milliseconds: number;
  request?: LeaseRequest['request'];
  /** The chat, if it was just created with this lease. Then the lease is not acquired once more. */
  newChat?: Chat | null;
}

/**
 * The turn of an earlier arrival of the same gateway request. `startedAt`: the position for its user message. If that
 * was not stored, the position may have another message.
 */
export interface PreviousTurn {
  startedAt: number;
}

type OpenServices = CloseTurnServices & Services<'messages' | 'replySettings'>;

const attempts = 5;

/**
 * Acquires the chat lease, or prolongs it if the chat has a lease with the same id. Closes an abandoned turn first. The
 * user message is not stored.
 * @returns `in-progress` if another turn owns the chat, or may own it soon; `PreviousTurn` if an earlier arrival of the
 *   same gateway request has started a turn, which has ended
 * @throws `Chat not found`, `Agent mismatch`, badRequest if the chat is full
 */
export async function openTurn(
  services: OpenServices,
  given: TurnRequest,
): Promise<Turn | PreviousTurn | 'in-progress'> {
  const { agent, message, attachments, workspaceId, chatId } = given;
  const leasing = leaseChat(services, given);
  const messageCount = leasing.then((leased) => (hasLease(leased) ? leased.messageCount : 0));
  // If the read of the history fails before it waits for the count, no other code handles a rejection of the count. An
  // error of the lease is thrown below.
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
  const isExpiring = expiresSoon(services, chat.lease, given.milliseconds);
  if (read.status === 'rejected' || isFull || isExpiring) {
    // If the release fails, the lease expires.
    await closeAbandonedTurn(services, chat).catch(() => undefined);
    if (read.status === 'rejected') throw read.reason;
    if (isExpiring) return 'in-progress';
    throw new ServiceError('badRequest', `The chat is full: it holds ${lastPosition - 1} messages`);
  }
  return { chat, agent, position, message, attachments, history: read.value };
}

/** Whether less than half of a chat lease is left. Then another turn may own the chat soon, or already does. */
export const expiresSoon = ({ clock }: Services<'clock'>, { until }: Lease, milliseconds: number): boolean =>
  until - clock.now().getTime() < milliseconds / 2;

const hasLease = (leased: LeasedChat | PreviousTurn | 'in-progress'): leased is LeasedChat =>
  typeof leased === 'object' && 'lease' in leased;

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

/** @param position of the user message */
export async function turnAt(
  { messages }: Services<'messages'>,
  chat: ChatKey,
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

export const userMessageOf = (
  { clock }: Services<'clock'>,
  { position, message: content, attachments }: Turn,
): UserMessage => ({ role: 'user', position, content, attachments, createdAt: clock.now().toISOString() });

/**
 * Stores the message, then the reply, and then releases the chat lease. Any attempt of a batch request may repeat it.
 * @returns the given reply, or the one that was stored before it; undefined if another turn has the position: then
 *   nothing is stored or released
 * @throws NotStorable if no retry can store the message or the reply
 */
export async function storeTurn(
  services: StoreServices,
  turn: Turn,
  reply: Reply,
): Promise<AssistantMessage | Reply | undefined> {
  const { chat, position } = turn;
  const user = { ...userMessageOf(services, turn), turnId: chat.lease.id };
  const isFirst = await services.messages.put(chat, user);
  if (!isFirst && (await turnAt(services, chat, position)).user?.turnId !== chat.lease.id) return undefined;
  const isStored = await putReply(services, turn, reply);
  const other = isStored ? undefined : (await turnAt(services, chat, position)).reply;
  await services.chats.releaseLease(chat, chat.lease.id, position + 1);
  return other ?? reply;
}

/**
 * Returns false if the position has another reply.
 * @throws NotStorable if no retry can store it
 */
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
