import { ServiceError } from '#contract/errors.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { countedCall, ReplyBudget } from '#domain/chats/agent-runtime.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { collectReply, type Reply, ReplyAborted } from '#domain/chats/collect-reply.ts';
import type { AssistantMessage } from '#domain/chats/message.ts';
import { closeAbandonedTurn, openTurn, storeTurn, type Turn, turnAt } from '#domain/chats/turn.ts';
import { attachFiles } from '#domain/files/attachments.ts';
import { ModelFailure, NotStorable, notStored } from '#domain/platform/failures.ts';
import type { CountedCall } from '#domain/platform/services.ts';
import { type Batch, type BatchItem, type BatchRequest, chatLeaseOf } from './batch.ts';
import type { Services } from './batch-store.ts';
import type { Prepared } from './check-request.ts';

export type RespondServices = Parameters<typeof collectReply>[0] &
  Parameters<typeof openTurn>[0] &
  Services<'batches' | 'batchSettings' | 'fileIndex'>;

export interface RequestAttempt {
  batch: Batch;
  request: BatchRequest;
  /** Set only if the claim has just created the chat, under the chat lease of the request. */
  newChat: Chat | null;
  item: BatchItem;
  hasMessage?: boolean;
  calls: readonly CountedCall[];
  /** See `SlotOwner.isOwner`. */
  isOwner(): Promise<boolean>;
  /** The caller aborts it with a `ReplyAborted` of the kind `lease-lost` when it has lost the slot. */
  stop: AbortController;
}

export type RequestResult = Pick<BatchItem, 'error' | 'incomplete' | 'calls'>;

/**
 * - `busy`: see `isPassing`.
 * - `broken`: the reply has failed otherwise, and another attempt may succeed.
 * - `blocked`: another turn owns the chat, or may own it soon.
 * - `lost`: another function may have taken over the request, or failed it.
 *
 * `retryAfter` is in milliseconds.
 */
export type AttemptEnd =
  | { result: RequestResult }
  | { outcome: 'busy' | 'broken' | 'blocked' | 'lost'; retryAfter?: number | undefined };

/** The broken reply with this number, counted as in `brokenReplies`, becomes the result of the request. */
const brokenRepliesAtMost = 3;

/** Milliseconds by which `chatLease` is longer than the longest reply: nothing renews the lease during the reply. */
const chatLeaseMargin = 30_000;

export const chatLease = ({ batchSettings }: Services<'batchSettings'>): number =>
  batchSettings.item + chatLeaseMargin;

/** Message and reply are stored after the reply has ended. Changes `attempt`; the caller stores the result. */
export async function respondToRequest(
  services: RespondServices,
  attempt: RequestAttempt,
  prepared: Prepared,
): Promise<AttemptEnd> {
  const turn = await open(services, attempt, prepared);
  if (!('chat' in turn)) return turn;
  const budget = new ReplyBudget(services.replySettings.limits);
  const { reply, error } = await collectReply(
    services,
    { ...turn, budget, form: prepared.form, isOfBatch: true },
    { emit: () => undefined, stop: attempt.stop, deadline: services.batchSettings.item },
  );
  attempt.calls = reply.calls;
  const failure = error === undefined ? undefined : endAfter(error, reply, attempt);
  if (failure === undefined) return store(services, attempt, turn, reply);
  // While the retry waits, users may send to an existing chat, so it is released.
  if (failure.outcome !== 'lost' && attempt.request.historyId !== null && !attempt.hasMessage)
    await closeAbandonedTurn(services, turn.chat);
  return failure;
}

/** Stores the position of the turn in the item. Returns the turn, or the end of the attempt. */
async function open(
  services: RespondServices,
  attempt: RequestAttempt,
  prepared: Prepared,
): Promise<Turn | AttemptEnd> {
  const { batch, request, newChat, item } = attempt;
  const chatId = request.historyId ?? item.chatId;
  if (chatId === null) throw new Error(`Request ${request.requestIndex} of batch ${batch.id} has no chat`);
  const turn = await openTurn(services, {
    ...{ ...prepared, workspaceId: batch.workspaceId, chatId, newChat, message: request.message },
    externalUserId: request.externalUserId ?? undefined,
    leaseId: chatLeaseOf(batch, request.requestIndex),
    milliseconds: chatLease(services),
  }).catch(rejection);
  if (turn === 'in-progress' || 'startedAt' in turn) return { outcome: 'blocked' };
  if (!('chat' in turn)) return turn;
  const { messagePosition } = item;
  if (messagePosition !== null && newChat === null) {
    const { user, reply } = await turnAt(services, turn.chat, messagePosition);
    attempt.hasMessage = user?.turnId === turn.chat.lease.id;
    // If both messages are there, the turn has ended.
    if (attempt.hasMessage && reply !== undefined) {
      const messageCount = Math.max(turn.chat.messageCount, messagePosition + 1);
      await services.chats.releaseLease(turn.chat, turn.chat.lease.id, messageCount);
      return ended(reply, turn);
    }
  }
  if (item.chatId === chatId && messagePosition === turn.position) return turn;
  attempt.item = { ...item, chatId, messagePosition: turn.position };
  return (await services.batches.replaceItem(batch, item, attempt.item)) ? turn : { outcome: 'lost' };
}

/** Undefined if the failed reply is the result of the request. */
function endAfter(error: unknown, reply: Reply, { item }: RequestAttempt) {
  if (error instanceof ReplyAborted && error.kind === 'lease-lost') return { outcome: 'lost' } as const;
  const retryAfter = error instanceof ModelFailure ? error.retryAfter : undefined;
  if (isPassing(error, reply)) return { outcome: 'busy', retryAfter } as const;
  return isBroken(error) && item.brokenReplies + 1 < brokenRepliesAtMost
    ? ({ outcome: 'broken', retryAfter } as const)
    : undefined;
}

/**
 * Whether the failure may pass by itself, and the reply has no calls to count. Such failures are retried without a
 * limit of their own.
 */
const isPassing = (error: unknown, { calls }: Reply): boolean =>
  calls.length === 0 &&
  error instanceof ModelFailure &&
  (error.kind === 'throttled' || error.kind === 'unavailable');

const isBroken = (error: unknown): boolean =>
  !(error instanceof ModelFailure && (error.kind === 'refused' || error.kind === 'tooLong'));

/** If another turn has the position, tries to close that turn and to use a later position. */
async function store(
  services: RespondServices,
  attempt: RequestAttempt,
  turn: Turn,
  reply: Reply,
): Promise<AttemptEnd> {
  const { batch, request } = attempt;
  const { agent, attachments, chat, form } = turn;
  try {
    await attachFiles(services, chat.id, attachments, request.attachedFileUuids);
    // If the request has failed meanwhile, its chat may be released: a turn would be stored that is not its result.
    if (!(await attempt.isOwner())) return { outcome: 'lost' };
    const stored = await storeTurn(services, turn, reply);
    if (stored !== undefined) return ended(stored, turn);
  } catch (error) {
    if (error instanceof ServiceError) {
      await closeAbandonedTurn(services, chat);
      return rejected(error.message);
    }
    if (!(error instanceof NotStorable)) throw error;
    services.log.error('A reply was not stored', { batchId: batch.id, chatId: chat.id, error });
    await closeAbandonedTurn(services, chat, notStored);
    return failed(notStored);
  }
  await closeAbandonedTurn(services, chat);
  attempt.newChat = null;
  const next = await open(services, attempt, { agent, attachments, form });
  return 'chat' in next ? store(services, attempt, next, reply) : next;
}

const ended = ({ error, incomplete, ...reply }: AssistantMessage | Reply, { agent }: Turn): AttemptEnd => ({
  result: {
    error: error && { code: 500, message: error.message },
    incomplete,
    calls: error === null ? ('calls' in reply ? reply.calls : callsOf(reply, agent)) : [],
  },
});

/** Of a reply that an earlier attempt has stored. No list of its calls is stored, so they count as one. */
const callsOf = (
  { tokenUsage }: Pick<AssistantMessage, 'tokenUsage'>,
  { definition }: AgentVersion,
): CountedCall[] => [countedCall({ model: definition.llm_model, callType: 'chat' }, tokenUsage)];

const failedWith = (code: number) => (message: string) => ({
  result: { error: { code, message }, incomplete: null, calls: [] },
});

export const rejected = failedWith(400);

export const failed = failedWith(500);

function rejection(error: unknown): AttemptEnd {
  if (error instanceof ServiceError) return rejected(error.message);
  throw error;
}
