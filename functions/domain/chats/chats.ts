import {
  agentNotFound,
  chatNotFound,
  invalidField,
  noReplyInProgress,
  ServiceError,
} from '#contract/errors.ts';
import { type Metadata, metadata } from '#contract/metadata.ts';
import type { ListPage } from '#contract/pagination.ts';
import { type IdempotencyKey, previousWork } from '#domain/platform/idempotency.ts';
import { allEnded, untilAborted } from '#domain/platform/promises.ts';
import type { CountedCall } from '#domain/platform/services.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { AwaitRateLimit } from '#domain/workspaces/rate-limits.ts';
import { findWorkspaceFor } from '#domain/workspaces/workspaces.ts';
import type { ReplyBudget } from './agent-runtime.ts';
import {
  batchLeasePrefix,
  type Chat,
  type ChatOfUser,
  isOpenTo,
  type Lease,
  type NewChat,
  responseIdOf,
} from './chat.ts';
import type { EmitEvent } from './collect-reply.ts';
import { countMessages } from './history.ts';
import { isReplyPosition, positionOf, type RatedMessage } from './message.ts';
import type { Feedback, Services } from './services.ts';
import type { SentTurn } from './turn.ts';

/**
 * Creates a chat with an agent, published or not (specification, section 3.3).
 * @param keys.gateway for a request without an idempotency key: if the gateway repeats it, no second chat is created
 * @returns `replayed`: whether an earlier request with the idempotency key of the client has created the chat
 * @throws accessDenied, clientNotAllowed, badRequest for a key of another request, `Agent not found`, rateLimited;
 *   `Chat not found` for a repeated request whose chat was deleted
 */
export async function createChat(
  services: Services<'agents' | 'chats' | 'idempotency' | 'newChats' | 'workspaces'>,
  input: Omit<NewChat, 'externalUserId'> & { externalUserId: string | undefined },
  keys: { client: IdempotencyKey | null; gateway: IdempotencyKey },
  awaitRateLimit: AwaitRateLimit,
): Promise<{ chat: Chat; replayed: boolean }> {
  const [, ownerOfAgent, stored] = await Promise.all([
    findWorkspaceFor(services, input.workspaceId, input.externalUserId),
    services.agents.workspaceOf(input.agentId),
    keys.client === null ? undefined : services.idempotency.find(keys.client),
  ]);
  const { externalUserId = null, ...fields } = input;
  const newChat: NewChat = { ...fields, externalUserId };
  const previous = previousWork(stored, keys.client, 'chat');
  if (previous !== undefined) return { chat: await asCreated(services, newChat, previous), replayed: true };
  if (ownerOfAgent !== input.workspaceId) throw agentNotFound();
  await awaitRateLimit();
  const key = keys.client ?? keys.gateway;
  const chat = await services.newChats.createWithKey(newChat, key);
  if (chat !== undefined) return { chat, replayed: false };
  const meanwhile = previousWork(await services.idempotency.find(key), key, 'chat');
  if (meanwhile === undefined) throw new Error('An idempotency key is in use without a record');
  return { chat: await asCreated(services, newChat, meanwhile), replayed: keys.client !== null };
}

/** A repeated request has the same fields, so the record contains only the id and the time. */
async function asCreated(
  { chats }: Services<'chats'>,
  newChat: NewChat,
  { chatId, createdAt }: { chatId: number; createdAt: string },
): Promise<Chat> {
  if ((await chats.get(newChat.workspaceId, chatId)) === undefined) throw chatNotFound();
  return { ...newChat, id: chatId, createdAt, updatedAt: createdAt, messageCount: 0, lease: null };
}

/** @throws accessDenied if the workspace does not exist; clientNotAllowed; notFound `Chat not found` */
export async function findChat(services: Services<'chats' | 'workspaces'>, input: ChatOfUser): Promise<Chat> {
  const [, chat] = await allEnded([
    findWorkspaceFor(services, input.workspaceId, input.externalUserId),
    services.chats.get(input.workspaceId, input.chatId),
  ]);
  if (chat === undefined || !isOpenTo(chat, input.externalUserId)) throw chatNotFound();
  return chat;
}

interface ChatChanges {
  name?: string | undefined;
  /** null removes a pair. */
  metadata?: Readonly<Record<string, string | null>> | undefined;
}

/** @throws the errors of findChat, then badRequest for the metadata, then rateLimited */
export async function renameChat(
  services: Services<'chats' | 'clock' | 'workspaces'>,
  { name, metadata: changes, ...input }: ChatOfUser & ChatChanges,
  awaitRateLimit: AwaitRateLimit,
): Promise<Chat> {
  let chat = await findChat(services, input);
  let metadata = changes && changedMetadata(chat, changes);
  await awaitRateLimit();
  const updatedAt = services.clock.now().toISOString();
  for (;;) {
    const outcome = await services.chats.change(chat, { name, metadata }, updatedAt);
    if (outcome.isDone)
      return { ...chat, name: name ?? chat.name, metadata: metadata ?? chat.metadata, updatedAt };
    if (outcome.chat === undefined) throw chatNotFound();
    chat = outcome.chat;
    metadata = changes && changedMetadata(chat, changes);
  }
}

function changedMetadata(chat: Chat, changes: NonNullable<ChatChanges['metadata']>): Metadata {
  const pairs = Object.entries({ ...chat.metadata, ...changes });
  const changed = Object.fromEntries(pairs.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
  const [issue] = metadata.safeParse(changed).error?.issues ?? [];
  if (issue !== undefined) throw invalidField('metadata', issue.message);
  return changed;
}

type NameServices = Services<'agentRuntime' | 'chats' | 'clock' | 'log' | 'meter' | 'usage'>;

/** Milliseconds from the end of the reply until a title that is not made yet is aborted. */
const titleGrace = 2000;

export function nameChat(services: NameServices, turn: SentTurn, budget: ReplyBudget, emit: EmitEvent) {
  const abort = new AbortController();
  let writing: Promise<unknown> = Promise.resolve();
  let counting: Promise<unknown> = Promise.resolve();
  let isStarted = false;
  return {
    start(): void {
      if (isStarted || !turn.makesTitle) return;
      isStarted = true;
      const { agent, message } = turn;
      const { signal } = abort;
      let call: CountedCall | undefined;
      const making = services.agentRuntime.title({
        ...{ agent, message, budget, signal },
        onCall: (current) => {
          call = current;
        },
      });
      const name = untilAborted(making, signal);
      counting = name.catch(() => undefined).then(() => countTitle(services, turn, call));
      writing = storeTitle(services, turn, emit, name);
    },
    /** `start` then does nothing. A title that is already made may still be stored. */
    cancel(): void {
      isStarted = true;
      abort.abort();
    },
    /** Waits for the title, but at most for the grace time: then it aborts the title. Never rejects. */
    async finish(): Promise<void> {
      const cancelGrace = services.clock.after(titleGrace, () => abort.abort());
      await untilAborted(writing, abort.signal).catch(() => undefined);
      cancelGrace();
    },
    /** Waits for the writes of the title and its usage, also after the grace time. Never rejects. */
    written: () => Promise.all([writing, counting]),
  };
}

async function storeTitle(
  services: NameServices,
  { chat }: SentTurn,
  emit: EmitEvent,
  making: Promise<string | undefined>,
): Promise<void> {
  try {
    const name = await making;
    if (name === undefined) return;
    if (await services.chats.setTitle(chat, name, services.clock.now().toISOString()))
      emit({ type: 'response.chat.title.updated', name });
  } catch (error) {
    services.log.warn('The chat keeps its name: no title could be made', { chatId: chat.id, error });
  }
}

/** The title is not part of the reply, so the usage of the reply does not contain the call. */
async function countTitle(services: NameServices, turn: SentTurn, call?: CountedCall): Promise<void> {
  if (call === undefined) return;
  const { workspaceId } = turn.chat;
  const { apiKeyId, agent } = turn;
  services.meter.replied({ calls: [call], reasoningSteps: [] });
  await countUsage(services, { workspaceId, apiKeyId, agentId: agent.agentId, counts: {}, calls: [call] });
}

/**
 * Does not wait for a reply in progress. It ends soon, like a stopped one; in a batch, it goes on to its usual end.
 * @throws the errors of findChat, then rateLimited
 */
export async function deleteChat(
  services: Services<'chatDeletion' | 'chats' | 'clock' | 'log' | 'purgeQueue' | 'workspaces'>,
  input: ChatOfUser,
  awaitRateLimit: AwaitRateLimit,
): Promise<void> {
  const chat = await findChat(services, input);
  await awaitRateLimit();
  const deletedAt = services.clock.now().toISOString();
  if ((await services.chatDeletion.delete([chat], deletedAt)).length === 0) throw chatNotFound();
  const { workspaceId, chatId } = input;
  try {
    await services.purgeQueue.send([{ workspaceId, chatId, deletedAt }]);
  } catch (error) {
    services.log.warn('A purge was not enqueued: the reconciler will do so', { chatId, error });
  }
}

/**
 * Rates a reply (specification, section 2.8).
 * @throws the errors of findChat, then notFound `Message not found`, then badRequest for a message that is no reply,
 *   then rateLimited
 */
export async function recordFeedback(
  services: Services<'chats' | 'clock' | 'feedback' | 'workspaces'>,
  input: ChatOfUser & Pick<Feedback, 'externalUserId' | 'type' | 'content'> & { messageId: number },
  awaitRateLimit: AwaitRateLimit,
): Promise<void> {
  const chat = await findChat(services, input);
  const position = positionOf(chat.id, input.messageId);
  if (position === undefined || position > (await countMessages(services, chat)))
    throw new ServiceError('notFound', 'Message not found');
  if (!isReplyPosition(position))
    throw new ServiceError('badRequest', 'message_id must be the id of an assistant message');
  await awaitRateLimit();
  const isRecorded = await services.feedback.record(chat, position, {
    ...{ externalUserId: input.externalUserId, type: input.type, content: input.content },
    createdAt: services.clock.now().toISOString(),
  });
  if (!isRecorded) throw chatNotFound();
}

/**
 * Positions have no gaps, so a page is a range of positions.
 * @returns `pages`: the messages of the page, in parts. Its iteration may throw `Chat not found` too
 * @throws accessDenied, clientNotAllowed, then badRequest without an external user, then notFound `Chat not found`
 */
export async function listMessages(
  services: Services<'chats' | 'messages' | 'workspaces'>,
  input: ChatOfUser & ListPage,
): Promise<{ total: number; pages: AsyncIterable<RatedMessage[]> }> {
  if (input.externalUserId === undefined) {
    // In whitelist mode, this throws first.
    await findWorkspaceFor(services, input.workspaceId, undefined);
    throw new ServiceError(
      'badRequest',
      'external_user_id is required, as a query parameter or in the header x-external-user-id',
    );
  }
  const chat = await findChat(services, input);
  const total = await countMessages(services, chat);
  const [first, last] = input.ascending
    ? [input.offset + 1, Math.min(input.offset + input.limit, total)]
    : [Math.max(total - input.offset - input.limit + 1, 1), total - input.offset];
  const pages = services.messages.range(chat, { first, last, ascending: input.ascending });
  return { total, pages: last < first ? pages : unlessDeleted(services, chat, pages) };
}

async function* unlessDeleted(
  { chats }: Services<'chats'>,
  { workspaceId, id }: Chat,
  pages: AsyncIterable<RatedMessage[]>,
): AsyncGenerator<RatedMessage[]> {
  let isEmpty = true;
  for await (const page of pages) {
    isEmpty &&= page.length === 0;
    yield page;
  }
  if (isEmpty && (await chats.get(workspaceId, id)) === undefined) throw chatNotFound();
}

type StopServices = Services<'chats' | 'clock'>;

/**
 * Milliseconds until the lease of a stopped reply expires if its function has died. A living function usually notices
 * the stop within about a second, and then prolongs the lease.
 */
const leaseOfStopped = 3000;

const longestWait = 2000;

const waitInterval = 200;

/**
 * Waits up to about two seconds for the end of the reply.
 * @throws the errors of findChat, then `No reply is in progress for this chat`, then badRequest if the reply in
 *   progress belongs to a batch, or is not the given one, then rateLimited
 */
export async function stopReply(
  services: StopServices & Services<'workspaces'>,
  input: ChatOfUser & { responseId: string | undefined },
  awaitRateLimit: AwaitRateLimit,
): Promise<{ responseId: string; hasEnded: boolean }> {
  const chat = await findChat(services, input);
  const lease = leaseToStop(chat, services.clock.now(), input.responseId);
  await awaitRateLimit();
  const until = services.clock.now().getTime() + leaseOfStopped;
  if (!(await services.chats.stopLease(chat, lease.id, until))) throw noReplyInProgress();
  return { responseId: responseIdOf(lease), hasEnded: await isReleased(services, chat, lease) };
}

function leaseToStop({ lease }: Chat, now: Date, responseId: string | undefined): Lease {
  if (lease === null || lease.until <= now.getTime()) throw noReplyInProgress();
  if (lease.id.startsWith(batchLeasePrefix))
    throw new ServiceError(
      'badRequest',
      'The reply in progress belongs to a batch: what a batch has started finishes normally',
    );
  if (responseId !== undefined && responseId !== responseIdOf(lease))
    throw new ServiceError('badRequest', 'Another reply than response_id is in progress for this chat');
  return lease;
}

async function isReleased({ chats, clock }: StopServices, chat: Chat, { id }: Lease): Promise<boolean> {
  const end = clock.now().getTime() + longestWait;
  do {
    await new Promise<void>((resolve) => clock.after(waitInterval, resolve));
    const current = await chats.get(chat.workspaceId, chat.id);
    if (current?.lease?.id !== id) return true;
  } while (clock.now().getTime() < end);
  return false;
}
