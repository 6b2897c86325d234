import { chatNotFound, ServiceError } from '#contract/errors.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { closeAbandonedTurn } from '#domain/chats/close-abandoned-turn.ts';
import { collectReply, ReplyAborted } from '#domain/chats/collect-reply.ts';
import type { Reply } from '#domain/chats/gather-reply.ts';
import { lastPosition } from '#domain/chats/message.ts';
import { readHistory } from '#domain/chats/read-history.ts';
import { rejectedTurnsOf } from '#domain/chats/rejected-turns.ts';
import { ReplyBudget } from '#domain/chats/reply-budget.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { attachFiles } from '#domain/files/attach-files.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import { NotStorable, notStored } from '#domain/platform/not-storable.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { type Batch, type BatchItem, chatLeaseOf } from './batch.ts';
import type { ClaimedRequest } from './claim-requests.ts';
import type { BatchServices } from './services.ts';

export type ProcessItemServices = Pick<BatchServices, 'batches' | 'batchSettings'> &
  Pick<ChatServices, 'agentRuntime' | 'chats' | 'messages' | 'replyEvents' | 'replySettings'> &
  Pick<FileServices, 'fileIndex'> &
  Pick<PlatformServices, 'clock' | 'log' | 'meter'>;

/** The data that the reply to a request needs, read when the request is claimed. */
export interface Prepared {
  agent: AgentVersion;
  attachments: StoredFile[];
}

/** A request without its checks. */
type ClaimedItem = Omit<ClaimedRequest, 'prepared'>;

/**
 * `retry`: the request needs another attempt, because of the model or of its chat; `lost`: its worker no longer owns the
 * slot.
 */
export type ItemEnd =
  | { type: 'ended'; item: BatchItem }
  | { type: 'retry'; item: BatchItem; isOfModel: boolean; retryAfter: number | undefined }
  | { type: 'lost' };

/**
 * How many failed replies (`brokenReplies`) a request may get. The last of them becomes its result, without a further
 * retry.
 */
const brokenRepliesAtMost = 3;

/** Milliseconds. The chat lease outlives a reply, so it is never renewed. */
const chatLeaseMargin = 30_000;

/** Length of the chat lease, milliseconds. */
export const chatLease = ({ batchSettings }: Pick<BatchServices, 'batchSettings'>): number =>
  batchSettings.item + chatLeaseMargin;

/**
 * Processes one claimed request of a batch. Message and reply are stored after the model has ended, because the batch
 * has the text of the message until then. So a failed attempt leaves nothing in the chat.
 * @param spend gets the model calls of this attempt, however it ends, and those of an attempt whose worker died before
 *   it counted them
 * @param stop is aborted when the slot is lost
 */
export const processBatchItem =
  (services: ProcessItemServices) =>
  async (
    batch: Batch,
    claimed: ClaimedItem,
    prepared: Prepared,
    spend: (calls: readonly CountedCall[]) => void,
    stop: AbortController,
  ): Promise<ItemEnd> => {
    const attempt: Attempt = { ...prepared, ...claimed, batch, stop };
    const previous = await readStoredReply(services, batch, claimed, prepared.agent);
    if (previous !== undefined) {
      spend(previous.calls);
      return ended(services, attempt.item, previous);
    }
    const chat = await openChat(services, attempt);
    if ('type' in chat) return chat;
    const { reply, error } = await makeReply(services, attempt, chat);
    spend(reply.calls);
    const failure =
      error === undefined ? undefined : await endAfterFailure(services, attempt, chat, reply, error);
    return failure ?? (await storeResult(services, attempt, chat, reply));
  };

interface Attempt extends Prepared, ClaimedItem {
  batch: Batch;
  /** The item with its newest chat. */
  item: BatchItem;
  stop: AbortController;
}

/**
 * Acquires the lease of the chat if the claim did not create the chat, and assigns the chat to the item. Returns the
 * end of the attempt if the chat is in use, full or deleted, or if another worker has claimed the item.
 */
async function openChat(services: ProcessItemServices, attempt: Attempt): Promise<Chat | ItemEnd> {
  const { batch, request } = attempt;
  const chat = usableChat(services, attempt) ?? (await takeChat(services, batch, attempt));
  if (chat === 'in-use') return { type: 'retry', item: attempt.item, isOfModel: false, retryAfter: undefined };
  if (chat === undefined) return rejected(services, attempt.item, chatNotFound().message);
  const position = chat.messageCount + 1;
  if (position + 1 > lastPosition) {
    await services.chats.releaseLease(chat, chatLeaseOf(batch, request.requestIndex), chat.messageCount);
    return rejected(services, attempt.item, `The chat is full: it holds ${lastPosition - 1} messages`);
  }
  const stored = await readStoredMeanwhile(services, attempt, chat);
  if (stored !== undefined) return stored;
  if (attempt.item.chatId === chat.id && attempt.item.messagePosition === position) return chat;
  attempt.item = { ...attempt.item, chatId: chat.id, messagePosition: position };
  return (await services.batches.replaceItem(batch, attempt.item, attempt.item)) ? chat : { type: 'lost' };
}

/** The chat that the claim created, unless its request has been in the buffer so long that the lease ends too early. */
const usableChat = (services: ProcessItemServices, { newChat }: Attempt): Chat | null =>
  (newChat?.lease?.until ?? 0) < services.clock.now().getTime() + chatLease(services) ? null : newChat;

/**
 * The end of a request whose earlier attempt has stored its turn after this one had looked for it, and before this one
 * had the chat lease. That attempt counts its calls itself.
 */
async function readStoredMeanwhile(
  services: ProcessItemServices,
  { batch, request, item, agent }: Attempt,
  chat: Chat,
): Promise<ItemEnd | undefined> {
  const { messagePosition: position } = item;
  if (item.chatId !== chat.id || position === null || position > chat.messageCount) return undefined;
  const { isOwn, reply } = await readTurn(services, { chat, position, message: request.message, agent });
  if (!isOwn || reply === undefined) return undefined;
  await services.chats.releaseLease(chat, chatLeaseOf(batch, request.requestIndex), chat.messageCount);
  return ended(services, item, reply);
}

async function makeReply(
  services: ProcessItemServices,
  { agent, attachments, request, stop }: Attempt,
  chat: Chat,
): Promise<{ reply: Reply; error: unknown }> {
  const history = await readHistory(services)(agent, chat, chat.messageCount);
  const budget = new ReplyBudget(services.replySettings.limits);
  return collectReply(services)(
    { agent, chat, history, message: request.message, attachments, budget },
    { emit: () => undefined, stop, deadline: services.batchSettings.item },
  );
}

/** The end of an attempt whose reply failed; undefined if the failed reply is the result of the request. */
async function endAfterFailure(
  services: ProcessItemServices,
  attempt: Attempt,
  chat: Chat,
  reply: Reply,
  error: unknown,
): Promise<ItemEnd | undefined> {
  if (error instanceof ReplyAborted && error.kind === 'lease-lost') return { type: 'lost' };
  const waits = isPassing(error, reply);
  const { batch, request, item } = attempt;
  attempt.item = { ...item, brokenReplies: item.brokenReplies + (waits ? 0 : 1) };
  if (!waits && (!isBroken(error) || attempt.item.brokenReplies >= brokenRepliesAtMost)) return undefined;
  const retryAfter = error instanceof ModelFailure ? error.retryAfter : undefined;
  const retry = { type: 'retry', isOfModel: true, retryAfter } as const;
  if (request.historyId === null) return { ...retry, item: attempt.item };
  // While the retry waits, users may send to an existing chat. A chat that was created for the request is unknown to
  // them.
  await services.chats.releaseLease(chat, chatLeaseOf(batch, request.requestIndex), chat.messageCount);
  return { ...retry, item: { ...attempt.item, messagePosition: null } };
}

/** Stores message and reply, and releases the chat lease. */
async function storeResult(
  services: ProcessItemServices,
  attempt: Attempt,
  chat: Chat,
  reply: Reply,
): Promise<ItemEnd> {
  const { batch, request, agent, attachments } = attempt;
  const position = chat.messageCount + 1;
  try {
    await attachFiles(services)(chat.id, attachments, request.attachedFileUuids);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    await services.chats.releaseLease(chat, chatLeaseOf(batch, request.requestIndex), chat.messageCount);
    return rejected(services, attempt.item, error.message);
  }
  const turn = { chat, position, message: request.message, attachments, agent };
  const stored = await storeTurn(services, turn, reply).catch((error: unknown) => {
    if (error instanceof NotStorable) return error;
    throw error;
  });
  if (stored instanceof NotStorable) {
    services.log.error('A reply was not stored', { batchId: batch.id, chatId: chat.id, error: stored });
    await closeAbandonedTurn(services)(chat, notStored);
    return failed(services, attempt.item, notStored);
  }
  if (stored === undefined) {
    await closeAbandonedTurn(services)(chat);
    const item = { ...attempt.item, messagePosition: null };
    return { type: 'retry', item, isOfModel: false, retryAfter: undefined };
  }
  await services.chats.releaseLease(chat, chatLeaseOf(batch, request.requestIndex), position + 1);
  return ended(services, attempt.item, stored);
}

/** The reply that an earlier attempt has stored, or that closed its abandoned turn. */
async function readStoredReply(
  services: ProcessItemServices,
  batch: Batch,
  { request, item }: ClaimedItem,
  agent: AgentVersion,
): Promise<Outcome | undefined> {
  if (item.attempt === 1 || item.chatId === null || item.messagePosition === null) return undefined;
  const chat = await services.chats.get(batch.workspaceId, item.chatId);
  if (chat === undefined) return undefined;
  const turn = { chat, position: item.messagePosition, message: request.message, agent };
  const { isOwn, reply } = await readTurn(services, turn);
  if (!isOwn || reply === undefined) return undefined;
  await services.chats.releaseLease(chat, chatLeaseOf(batch, item.requestIndex), item.messagePosition + 1);
  return reply;
}

/** The chat of the request, under the lease of the request; undefined if it was deleted. */
async function takeChat(
  services: ProcessItemServices,
  batch: Batch,
  { request, item }: ClaimedItem,
): Promise<Chat | 'in-use' | undefined> {
  const chatId = request.historyId ?? item.chatId;
  if (chatId === null) throw new Error(`Request ${request.requestIndex} of batch ${batch.id} has no chat`);
  // The first attempt may find an abandoned turn and close it.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const now = services.clock.now();
    const lease = {
      id: chatLeaseOf(batch, request.requestIndex),
      until: now.getTime() + chatLease(services),
    };
    const response = await services.chats.takeLease({
      workspaceId: batch.workspaceId,
      chatId,
      agentId: request.agentId,
      externalUserId: request.externalUserId ?? undefined,
      lease,
      now: now.toISOString(),
    });
    if (response.taken) {
      // An earlier attempt acquired the lease. It has the same id but ends earlier, so it is extended.
      if (response.chat.lease?.until !== lease.until)
        await services.chats.renewLease(response.chat, lease.id, lease.until);
      return { ...response.chat, lease };
    }
    const { chat } = response;
    if (chat === undefined) return undefined;
    if (chat.lease === null) throw new Error(`Chat ${chatId} of batch ${batch.id} has another owner`);
    if (chat.lease.until > now.getTime()) return 'in-use';
    await closeAbandonedTurn(services)(chat);
  }
  return 'in-use';
}

/**
 * Whether a later attempt can succeed: the model is busy or unavailable, and has sent nothing. A model that fails in the
 * middle of a reply may do so every time, and so may one that is silent: it is paid for each attempt.
 */
const isPassing = (error: unknown, { content, reasoningSteps }: Reply): boolean =>
  content === '' &&
  reasoningSteps.length === 0 &&
  error instanceof ModelFailure &&
  (error.kind === 'throttled' || error.kind === 'unavailable');

const isBroken = (error: unknown): boolean =>
  !(error instanceof ModelFailure && (error.kind === 'refused' || error.kind === 'tooLong'));

type Outcome = Pick<Reply, 'error' | 'incomplete' | 'calls'>;

interface Turn {
  chat: Chat;
  position: number;
  message: string;
  agent: AgentVersion;
}

/**
 * Stores message and reply.
 * @returns the stored reply, which may be that of another attempt; undefined if another turn has the position
 */
async function storeTurn(
  services: ProcessItemServices,
  turn: Turn & { attachments: StoredFile[] },
  reply: Reply,
): Promise<Outcome | undefined> {
  const createdAt = services.clock.now().toISOString();
  const { chat, position, attachments, agent } = turn;
  const isFirst = await services.messages.put(chat, {
    ...{ role: 'user', position, content: turn.message, attachments, createdAt },
  });
  if (!isFirst && !(await readTurn(services, turn)).isOwn) return undefined;
  const isStored = await services.messages.put(chat, {
    role: 'assistant',
    position: position + 1,
    content: reply.content,
    createdAt,
    agentVersionId: agent.id,
    reasoningSteps: reply.reasoningSteps,
    tokenUsage: reply.usage,
    error: reply.error,
    incomplete: reply.incomplete,
    ...(await rejectedTurnsOf(services, turn, reply)),
  });
  return isStored ? reply : ((await readTurn(services, turn)).reply ?? reply);
}

/** The messages of a turn, and whether the user message is this request's: other users may send to the same chat. */
async function readTurn(
  services: ProcessItemServices,
  { chat, position, message, agent }: Turn,
): Promise<{ isOwn: boolean; reply: Outcome | undefined }> {
  const pages = services.messages.range(chat, { first: position, last: position + 1, ascending: true });
  const stored = (await Array.fromAsync(pages)).flat().map((found) => found.message);
  const isOwn = stored.some(({ role, content }) => role === 'user' && content === message);
  const reply = stored.find(({ role }) => role === 'assistant');
  if (reply?.role !== 'assistant') return { isOwn, reply: undefined };
  // A stored reply has no list of its calls: they are counted as one.
  const { total_prompt_tokens, total_completion_tokens } = reply.tokenUsage;
  const call: CountedCall = [
    agent.definition.llm_model,
    'chat',
    total_prompt_tokens,
    total_completion_tokens,
  ];
  return { isOwn, reply: { error: reply.error, incomplete: reply.incomplete, calls: [call] } };
}

type FailedEnd = (
  services: Pick<PlatformServices, 'clock'>,
  item: BatchItem,
  message: string,
) => ItemEnd & { type: 'ended' };

const failedWith =
  (code: number): FailedEnd =>
  (services, item, message) => ({
    type: 'ended',
    item: {
      ...item,
      status: 'failed',
      error: { code, message },
      processedAt: services.clock.now().toISOString(),
    },
  });

/** The end of a request that is invalid. */
export const rejected = failedWith(400);

/** The end of a valid request that the service could not process. */
export const failed = failedWith(500);

const ended = (
  services: ProcessItemServices,
  item: BatchItem,
  { error, incomplete, calls }: Outcome,
): ItemEnd => ({
  type: 'ended',
  item: {
    ...item,
    status: error === null ? 'success' : 'failed',
    error: error && { code: 500, message: error.message },
    incomplete,
    calls: error === null ? calls : [],
    processedAt: services.clock.now().toISOString(),
  },
});
