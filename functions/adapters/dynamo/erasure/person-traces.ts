import { eraseRequest } from '#adapters/dynamo/batches/batch-requests.ts';
import { dynamoFeedbackStore } from '#adapters/dynamo/chats/feedback-store.ts';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { ScanKeys } from '#adapters/dynamo/table/scan-keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { hashUsers } from '#adapters/dynamo/workspaces/user-hashes.ts';
import { requestsPerGroup } from '#domain/batches/batch.ts';
import type { PersonTraces } from '#domain/erasure/services.ts';
import type { Person } from '#domain/workspaces/person.ts';

const attributes = [
  ...['external_user_id', 'workspace_id', 'work.chatId', 'changes.users'],
  ...Array.from({ length: requestsPerGroup }, (_, index) => `requests[${index}].external_user_id`),
];

export const dynamoPersonTraces = (table: Table, scan: ScanKeys): PersonTraces => ({
  async erase(person, chatIds, onFound) {
    const counts = { items: 0, found: 0 };
    await scan(attributes, async (page) => {
      counts.items += page.length;
      let found = 0;
      for (const item of page) {
        const trace = traceOf(item, person, chatIds);
        if (trace === undefined) continue;
        await eraseTrace(table, person, trace, item);
        found += 1;
      }
      counts.found += found;
      if (found > 0) await onFound(found);
    });
    return counts;
  },
});

type Trace =
  | { kind: 'item' }
  /** The names in an audit entry of an earlier version. */
  | { kind: 'names'; users: string[] }
  | { kind: 'requests'; batchId: string; group: number }
  | { kind: 'feedback'; chatId: number; position: number }
  /** The next run of the erasure finds a chat, its entry and its counts, and the purge of a chat what belongs to it. */
  | { kind: 'chat' };

/** What the item has of the person. */
function traceOf(item: Item, person: Person, chatIds: ReadonlySet<number>): Trace | undefined {
  const { pk, sk } = item as unknown as Key;
  const { users = [] } = (item.changes ?? {}) as { users?: string[] };
  if (item.workspace_id === person.workspaceId && users.includes(person.externalUserId))
    return { kind: 'names', users };
  const prefix = `${keys.workspace(person.workspaceId).pk}#`;
  if (!pk.startsWith(prefix)) return undefined;
  // A user's id may have any character.
  const [, kind = '', rest = ''] = /^([A-Z]+(?:-N)?)#?(.*)$/s.exec(pk.slice(prefix.length)) ?? [];
  return finders[kind]?.({ item, sk, rest, user: person.externalUserId, chatIds });
}

interface Found {
  item: Item;
  sk: string;
  /** Of the partition key, after the kind. */
  rest: string;
  user: string;
  chatIds: ReadonlySet<number>;
}

/** By the kind of partition. */
const finders: Readonly<Record<string, (found: Found) => Trace | undefined>> = {
  WHITELIST: ({ sk, user }) => (sk === user ? { kind: 'item' } : undefined),
  'USER-N': ({ rest, user }) => (rest === user ? { kind: 'chat' } : undefined),
  USER({ rest, sk, user }) {
    if (rest !== user) return undefined;
    const [kind, ...parts] = sk.split('#');
    if (kind === 'RATING') return feedbackTrace(parts[0], parts[1]);
    return { kind: kind === 'CHAT' ? 'chat' : 'item' };
  },
  C({ item, rest, sk, user, chatIds }) {
    const [id, part, position] = rest.split('#');
    if (part === 'F' && sk === user) return feedbackTrace(id, position);
    const isLeft = sk !== 'CHAT' && chatIds.has(Number(id));
    return item.external_user_id === user || isLeft ? { kind: 'chat' } : undefined;
  },
  FILE: ({ sk, chatIds }) =>
    sk.startsWith('CHAT#') && chatIds.has(Number(sk.slice('CHAT#'.length))) ? { kind: 'chat' } : undefined,
  REQUEST({ item, chatIds }) {
    const { chatId } = (item.work ?? {}) as { chatId?: number };
    return chatId !== undefined && chatIds.has(chatId) ? { kind: 'item' } : undefined;
  },
  B({ item, rest, sk, user }) {
    const requests = (item.requests ?? []) as { external_user_id?: string }[];
    return requests.some((request) => request.external_user_id === user)
      ? { kind: 'requests', batchId: rest.slice(0, rest.indexOf('#')), group: Number(sk.split('#')[1]) }
      : undefined;
  },
};

const feedbackTrace = (chatId: string | undefined, position: string | undefined): Trace => ({
  ...{ kind: 'feedback', chatId: Number(chatId), position: Number(position) },
});

async function eraseTrace(table: Table, person: Person, trace: Trace, item: Item): Promise<void> {
  const { workspaceId, externalUserId } = person;
  const { pk, sk } = item as unknown as Key;
  if (trace.kind === 'item') await table.deleteAll([{ pk, sk }]);
  if (trace.kind === 'names') await hashNames(table, person, { pk, sk }, trace.users);
  if (trace.kind === 'requests') await eraseRequests(table, person, trace);
  if (trace.kind === 'feedback')
    await dynamoFeedbackStore(table).remove(
      { workspaceId, id: trace.chatId },
      trace.position,
      externalUserId,
    );
}

async function hashNames(
  table: Table,
  { workspaceId, externalUserId }: Person,
  Key: Key,
  users: readonly string[],
): Promise<void> {
  const [hash] = await hashUsers(table, workspaceId, [externalUserId]);
  await table.update({
    Key,
    UpdateExpression: 'SET changes.#users = :users',
    ExpressionAttributeNames: { '#users': 'users' },
    ExpressionAttributeValues: { ':users': users.map((user) => (user === externalUserId ? hash : user)) },
  });
}

async function eraseRequests(
  table: Table,
  { workspaceId, externalUserId }: Person,
  { batchId, group }: Extract<Trace, { kind: 'requests' }>,
): Promise<void> {
  const item = await table.get(keys.batchRequests(workspaceId, batchId, group));
  const requests = (item?.requests ?? []) as { external_user_id?: string }[];
  for (const [index, request] of requests.entries())
    if (request.external_user_id === externalUserId)
      await eraseRequest(table)({ workspaceId, id: batchId }, group * requestsPerGroup + index);
}
