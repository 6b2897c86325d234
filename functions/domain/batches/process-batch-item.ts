import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { closeAbandonedTurn } from '#domain/chats/close-abandoned-turn.ts';
import { collectReply, ReplyAborted } from '#domain/chats/collect-reply.ts';
import type { Reply } from '#domain/chats/gather-reply.ts';
import { lastPosition } from '#domain/chats/message.ts';
import { renewLeases } from '#domain/chats/renew-leases.ts';
import { ReplyBudget } from '#domain/chats/reply-budget.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import { NotStorable, notStored } from '#domain/platform/not-storable.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { type Batch, type BatchItem, chatLeaseOf } from './batch.ts';
import type { ClaimedItem } from './batch-transitions.ts';
import type { BatchServices } from './services.ts';

export type ProcessItemServices = Pick<BatchServices, 'batches' | 'batchSettings'> &
  Pick<ChatServices, 'agentRuntime' | 'chats' | 'messages' | 'replySettings'> &
  Pick<PlatformServices, 'clock' | 'log' | 'meter'>;

/** What a request is answered with, as it was found when it was begun. */
export interface Prepared {
  agent: AgentVersion;
  attachments: StoredFile[];
}

/** `again`: the request is to be tried later; `lost`: someone else has it now. */
export type ItemEnd =
  | { type: 'ended'; item: BatchItem }
  | { type: 'retry'; item: BatchItem; retryAfter: number | undefined }
  | { type: 'lease-lost' };

/** Of a model that breaks off: the third such reply is what the request ends with. */
const brokenRepliesAtMost = 3;

/** The chat's lease outlives a reply, so that only the item's, which is shorter, needs to be renewed. */
const chatLeaseMargin = 30_000;

/** Milliseconds. */
export const chatLease = ({ batchSettings }: Pick<BatchServices, 'batchSettings'>): number =>
  batchSettings.item + chatLeaseMargin;

/**
 * Answers one request of a batch under its claim. Message and reply are stored when the model has done, since the text
 * is safe in the batch until then; so a try that failed leaves nothing in the chat.
 * @param spend is told the calls of this try, however it ends, and those of an earlier one whose worker died before it
 *   could count them
 */
export const processBatchItem =
  (services: ProcessItemServices) =>
  async (
    batch: Batch,
    claimed: ClaimedItem,
    { agent, attachments }: Prepared,
    spend: (calls: readonly CountedCall[]) => void,
  ): Promise<ItemEnd> => {
    const { request } = claimed;
    let { item } = claimed;
    const leaseId = chatLeaseOf(batch, request.position);
    const stop = new AbortController();
    const renew = (until: number): Promise<boolean> => {
      item = { ...item, leaseUntil: until };
      return services.batches.renewItemLease(batch, item, until);
    };
    const lease = renewLeases(services, renew, stop);
    try {
      const previous = await readStoredReply(services, batch, claimed, agent);
      if (previous !== undefined) {
        spend(previous.calls);
        return ended(services, item, previous);
      }

      const chat = claimed.newChat ?? (await takeChat(services, batch, claimed));
      if (chat === undefined) return { type: 'retry', item, retryAfter: undefined };
      const position = chat.messageCount + 1;
      if (position + 1 > lastPosition) {
        await services.chats.releaseLease(chat, leaseId, chat.messageCount);
        return rejected(services, item, `The chat is full: it holds ${lastPosition - 1} messages`);
      }
      if (item.chatId !== chat.id || item.messagePosition !== position) {
        item = { ...item, chatId: chat.id, messagePosition: position };
        if (!(await services.batches.assignChat(batch, item))) return { type: 'lease-lost' };
      }
      const characters = agent.definition.meta.max_history_characters;
      const history = await services.messages.recent(
        chat,
        chat.messageCount,
        characters ?? services.replySettings.historyCharacters,
      );
      const budget = new ReplyBudget(services.replySettings.limits);
      const { reply, error } = await collectReply(services)(
        { agent, chat, history, message: request.message, attachments, budget },
        { emit: () => undefined, stop, deadline: services.batchSettings.item },
      );
      spend(reply.calls);
      if (error instanceof ReplyAborted && error.kind === 'lease-lost') return { type: 'lease-lost' };
      if (error !== undefined) {
        const waits = isPassing(error, reply);
        item = { ...item, brokenReplies: item.brokenReplies + (waits ? 0 : 1) };
        if (waits || (isBroken(error) && item.brokenReplies < brokenRepliesAtMost)) {
          const retryAfter = error instanceof ModelFailure ? error.retryAfter : undefined;
          if (request.historyId === null) return { type: 'retry', item, retryAfter };
          // Others may use a history meanwhile, and take this place in it; a chat of the batch's own is nobody's yet.
          await services.chats.releaseLease(chat, leaseId, chat.messageCount);
          return { type: 'retry', item: { ...item, messagePosition: null }, retryAfter };
        }
      }
      const turn = { chat, position, message: request.message, attachments, agent };
      const stored = await storeTurn(services, turn, reply).catch((error: unknown) => {
        if (error instanceof NotStorable) return error;
        throw error;
      });
      if (stored instanceof NotStorable) {
        services.log.error('A reply was not stored', { batchId: batch.id, chatId: chat.id, error: stored });
        await closeAbandonedTurn(services)(chat, notStored);
        return failed(services, item, notStored);
      }
      if (stored === undefined) {
        await closeAbandonedTurn(services)(chat);
        return { type: 'retry', item: { ...item, messagePosition: null }, retryAfter: undefined };
      }
      await services.chats.releaseLease(chat, leaseId, position + 1);
      return ended(services, item, stored);
    } finally {
      lease.stop();
      await lease.finished();
    }
  };

/** A reply that an earlier holder of the claim has stored already, or that ended a turn which it had left behind. */
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
  await services.chats.releaseLease(chat, chatLeaseOf(batch, item.position), item.messagePosition + 1);
  return reply;
}

/** The request's chat under its lease; undefined while someone else holds it. */
async function takeChat(
  services: ProcessItemServices,
  batch: Batch,
  { request, item }: ClaimedItem,
): Promise<Chat | undefined> {
  const chatId = request.historyId ?? item.chatId;
  if (chatId === null) throw new Error(`Request ${request.position} of batch ${batch.id} has no chat`);
  // One that was given up is settled, and then taken.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const now = services.clock.now();
    const lease = {
      id: chatLeaseOf(batch, request.position),
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
      // One that an earlier holder of the claim took is the same, and older.
      if (response.chat.lease?.until !== lease.until)
        await services.chats.renewLease(response.chat, lease.id, lease.until);
      return { ...response.chat, lease };
    }
    if (response.chat?.lease == null) throw new Error(`Chat ${chatId} of batch ${batch.id} is gone`);
    if (response.chat.lease.until > now.getTime()) return undefined;
    await closeAbandonedTurn(services)(response.chat);
  }
  return undefined;
}

/**
 * Neither the request nor the reply is to blame: the model is busy, out of reach, or silent for once. One that breaks off
 * what it has begun may do so every time.
 */
const isPassing = (error: unknown, { content, reasoningSteps }: Reply): boolean =>
  content === '' &&
  reasoningSteps.length === 0 &&
  (error instanceof ReplyAborted
    ? error.kind === 'idle-timeout'
    : error instanceof ModelFailure && (error.kind === 'throttled' || error.kind === 'unavailable'));

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
 * @returns what stands in the chat, another holder's reply when one was there first; undefined when someone else's turn
 *   stands in the place
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
  });
  return isStored ? reply : ((await readTurn(services, turn)).reply ?? reply);
}

/** What stands in a turn's two places, and whether the message is this turn's: a history may have other users. */
async function readTurn(
  services: ProcessItemServices,
  { chat, position, message, agent }: Turn,
): Promise<{ isOwn: boolean; reply: Outcome | undefined }> {
  const pages = services.messages.range(chat, { first: position, last: position + 1, ascending: true });
  const stored = (await Array.fromAsync(pages)).flat().map((found) => found.message);
  const isOwn = stored.some(({ role, content }) => role === 'user' && content === message);
  const reply = stored.find(({ role }) => role === 'assistant');
  if (reply?.role !== 'assistant') return { isOwn, reply: undefined };
  // Which calls it came of is not stored with the reply: they are told as one.
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

/** The end of a request that cannot be done as it is. */
export const rejected = failedWith(400);

/** The end of a request that could be done, but not here. */
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
