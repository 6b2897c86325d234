import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { backOff } from '#adapters/dynamo/table/back-off.ts';
import { isConflict, type Table, type Write } from '#adapters/dynamo/table/table.ts';
import { idempotencyWrites } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { NewChat, NewChatStore } from '#domain/chats/chat-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency-record.ts';
import { NotStorable } from '#domain/platform/not-storable.ts';
import { type ChatLists, listNamesOf, type PlannedChats, planChats, readChatLists } from './plan-chats.ts';

/** DynamoDB's limit for one transaction: 48 chats with their keys and one list, or 24 of different users. */
const maxWrites = 100;

/** With the delays about 32 s, longer than a request may take (29 s), so this limit rejects no request. */
const maxAttempts = 200;

/** A creation whose own key has cancelled so many transactions cancels no more of others: it gets its own. */
const cancelledBeforeAlone = 2;

interface Creation {
  newChat: NewChat;
  key: IdempotencyKey | null;
  attempts: number;
  /** Transactions that the writes of this creation alone have cancelled. */
  cancelled: number;
  resolve: (chat: Chat | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Creates chats with dense ids ([decision 001](docs/decisions/001-dense-ids.md)). Each transaction changes the
 * workspace's count of chats, so only one at a time succeeds. Therefore a process has one transaction in flight for each
 * workspace, and the next one creates all chats that wait then.
 */
export function dynamoNewChatStore(table: Table, clock: Clock): NewChatStore {
  const waiting = new Map<string, Creation[]>();
  const create = (newChat: NewChat, key: IdempotencyKey | null): Promise<Chat | undefined> =>
    new Promise((resolve, reject) => {
      const creation: Creation = { newChat, key, attempts: 0, cancelled: 0, resolve, reject };
      const { workspaceId } = newChat;
      const queue = waiting.get(workspaceId);
      if (queue !== undefined) return void queue.push(creation);
      const newQueue = [creation];
      waiting.set(workspaceId, newQueue);
      void createAll(table, clock, newQueue, () => waiting.delete(workspaceId));
    });
  return {
    create: async (newChat) => (await create(newChat, null)) as Chat,
    createWithKey: create,
  };
}

/** Creates all chats of the queue, and those that join it until `onEmpty` is called. Never rejects. */
async function createAll(table: Table, clock: Clock, queue: Creation[], onEmpty: () => void): Promise<void> {
  for (let conflicts = 0; queue.length > 0; ) {
    const { hasConflict, remaining } = await createGroup(table, clock, takeGroup(queue));
    queue.unshift(...remaining.filter((creation) => !isAlone(creation)));
    queue.push(...remaining.filter(isAlone));
    conflicts = hasConflict ? conflicts + 1 : 0;
    if (hasConflict) await backOff(table, conflicts);
  }
  onEmpty();
}

/**
 * Removes from the queue the creations of the next transaction: as many as fit, as far as the lists of ids need no new
 * chunk. Of creations with the same key it takes one.
 */
function takeGroup(queue: Creation[]): Creation[] {
  const [first] = queue;
  if (first !== undefined && isAlone(first)) return queue.splice(0, 1);
  const group = new Set<Creation>();
  const lists = new Set<string>();
  const hashes = new Set<string>();
  for (const creation of queue) {
    const { key, newChat } = creation;
    if (isAlone(creation) || (key !== null && hashes.has(key.hash))) continue;
    for (const name of listNamesOf(newChat)) lists.add(name);
    if (1 + 2 * (group.size + 1) + lists.size > maxWrites) break;
    group.add(creation);
    if (key !== null) hashes.add(key.hash);
  }
  queue.splice(0, queue.length, ...queue.filter((creation) => !group.has(creation)));
  return [...group];
}

const isAlone = ({ cancelled }: Creation): boolean => cancelled >= cancelledBeforeAlone;

interface Outcome {
  /** Whether another write cancelled the transaction. */
  hasConflict: boolean;
  /** The creations that need another transaction. */
  remaining: Creation[];
}

async function createGroup(table: Table, clock: Clock, group: Creation[]): Promise<Outcome> {
  let created = group;
  try {
    const workspaceId = group[0]?.newChat.workspaceId ?? '';
    const lists = await readChatLists(
      table,
      workspaceId,
      group.map(({ newChat }) => newChat),
    );
    let planned = plan(lists, clock, created);
    for (let count = planned.writes('').length; count > maxWrites; count = planned.writes('').length) {
      created = created.slice(0, Math.floor((created.length * maxWrites) / count));
      planned = plan(lists, clock, created);
    }
    await table.transact(planned.writes);
    for (const [index, { resolve }] of created.entries()) resolve(planned.chats[index]);
    return { hasConflict: false, remaining: group.slice(created.length) };
  } catch (error) {
    const remaining = [...afterFailure(created, error), ...group.slice(created.length)];
    return { hasConflict: isConflict(error), remaining };
  }
}

/** The keys come first, so that `afterFailure` finds the key of each creation by its place. */
function plan(lists: ChatLists, clock: Clock, group: readonly Creation[]): PlannedChats {
  const { chats, writes } = planChats(
    lists,
    clock,
    group.map(({ newChat }) => ({ ...newChat, lease: null })),
  );
  return {
    chats,
    writes: (TableName) => [
      ...group.flatMap(({ key }, index) => keyWrites(TableName, key, chats[index] as Chat)),
      ...writes(TableName),
    ],
  };
}

const keyWrites = (TableName: string, key: IdempotencyKey | null, { id, createdAt }: Chat): Write[] =>
  idempotencyWrites(TableName, key, { is: 'chat', chatId: id, createdAt });

/** Ends the creations whose key is in use, and those that have failed. @returns the others */
function afterFailure(group: readonly Creation[], error: unknown): Creation[] {
  if (group.length > 1 && mayBeOfOne(error)) {
    for (const creation of group) creation.cancelled = cancelledBeforeAlone;
    return [...group];
  }
  const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
  const codeOf = new Map(
    group.filter(({ key }) => key !== null).map((creation, index) => [creation, reasons[index]?.Code]),
  );
  return group.filter((creation) => {
    creation.attempts += 1;
    const code = codeOf.get(creation);
    if (code === 'TransactionConflict') creation.cancelled += 1;
    if (code === 'ConditionalCheckFailed') creation.resolve(undefined);
    else if (!isConflict(error) || creation.attempts === maxAttempts) creation.reject(error);
    else return true;
    return false;
  });
}

/** Whether one creation may be what DynamoDB rejects, so that the others succeed without it. */
const mayBeOfOne = (error: unknown): boolean =>
  error instanceof NotStorable ||
  (error instanceof Error && error.name === 'ValidationException') ||
  (error instanceof TransactionCanceledException &&
    (error.CancellationReasons ?? []).some(({ Code }) => Code === 'ValidationError'));
