import { eraseRequest } from '#adapters/dynamo/batches/batch-requests.ts';
import { dynamoFeedbackStore } from '#adapters/dynamo/chats/feedback-store.ts';
import { erasedCounts, outboxKey, purgeItem, updateSame } from '#adapters/dynamo/chats/purge-outbox.ts';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { ScanKeys } from '#adapters/dynamo/table/lists.ts';
import { allOf, changingIf, type Item, startingWith, type Table } from '#adapters/dynamo/table/table.ts';
import { auditBy } from '#adapters/dynamo/workspaces/api-key-store.ts';
import { hashUsers } from '#adapters/dynamo/workspaces/usage-store.ts';
import { requestsPerGroup } from '#domain/batches/batch.ts';
import { nothingErased } from '#domain/chats/purge.ts';
import type { Erasures, PersonTraces, Retention } from '#domain/erasure/erasure.ts';
import { type Clock, sumOf } from '#domain/platform/services.ts';
import type { Person } from '#domain/workspaces/workspace.ts';

export const dynamoErasures = (table: Table, clock: Clock): Erasures => ({
  async request(erasure, actor, erased = {}) {
    const { workspaceId, externalUserId } = erasure;
    const isKnown = await hasItems(table, erasure);
    const [target = ''] = isKnown ? await hashUsers(table, workspaceId, [externalUserId]) : [];
    await table.transact([
      { Put: { Item: { ...purgeItem(erasure), ...erasedCounts.itemOf(erased) } } },
      // Clients may name users that never existed. Audit entries stay as long as their workspace, so only a known user
      // gets one.
      ...(isKnown ? auditBy(clock, () => actor)('user erased', workspaceId, target, {}) : []),
    ]);
  },
  async erased(person) {
    const item = await table.get(outboxKey({ ...person, deletedAt: '' }));
    return item && sumOf(nothingErased, erasedCounts.fieldsOf(item));
  },
  add: (erasure, erased) => updateSame(table, erasure, erased),
});

async function hasItems(table: Table, { workspaceId, externalUserId }: Person): Promise<boolean> {
  const { pk } = keys.chatList(workspaceId, { externalUserId }).entry(0);
  for await (const page of table.queryPages({ ...allOf({ pk }), Limit: 1 })) return page.length > 0;
  return false;
}

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
  /** Users' ids that an earlier release wrote into an audit entry. */
  | { kind: 'names'; users: string[] }
  | { kind: 'requests'; batchId: string; group: number }
  | { kind: 'feedback'; chatId: number; position: number }
  /** Not erased here: the next run of the erasure, or the purge of the chat, does that. */
  | { kind: 'chat' };

function traceOf(item: Item, person: Person, chatIds: ReadonlySet<number>): Trace | undefined {
  const { pk, sk } = item as unknown as Key;
  const { users = [] } = (item.changes ?? {}) as { users?: string[] };
  if (item.workspace_id === person.workspaceId && users.includes(person.externalUserId))
    return { kind: 'names', users };
  const prefix = `${keys.workspace(person.workspaceId).pk}#`;
  if (!pk.startsWith(prefix)) return undefined;
  // A user's id may have any character, even a line break.
  const [, kind = '', rest = ''] = /^([A-Z]+(?:-N)?)#?(.*)$/s.exec(pk.slice(prefix.length)) ?? [];
  return finders[kind]?.({ item, sk, rest, user: person.externalUserId, chatIds });
}

interface Found {
  item: Item;
  sk: string;
  rest: string;
  user: string;
  chatIds: ReadonlySet<number>;
}

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

export const dynamoRetention = (table: Table): Retention => ({
  async walks() {
    const walks = await table.queryAll(allOf(keys.operatorsRetention('')));
    return walks.map(({ sk, days, walked_to: after, walked_at: walkedAt }) => ({
      ...{ workspaceId: sk as string, days: days as number },
      after: (after as number | undefined) ?? null,
      walkedAt: (walkedAt as string | undefined) ?? null,
    }));
  },

  async advance({ workspaceId, days }, after, at) {
    const { isDone } = await table.updateIf({
      Key: keys.operatorsRetention(workspaceId),
      ...changingIf({ walked_at: at, walked_to: after }, { days }),
    });
    return isDone;
  },

  async inOpenBatches(workspaceId, chatIds) {
    const batches = await table.queryAll(allOf(keys.batchList(workspaceId, 'open').entry(0)));
    const open = new Set(batches.map(({ id }) => id));
    if (open.size === 0) return new Set();
    const found = await Promise.all(
      chatIds.map(async (chatId) => ((await hasRequestOf(table, workspaceId, chatId, open)) ? [chatId] : [])),
    );
    return new Set(found.flat());
  },
});

async function hasRequestOf(
  table: Table,
  workspaceId: string,
  chatId: number,
  batchIds: ReadonlySet<unknown>,
): Promise<boolean> {
  const requests = table.queryPages({
    ...startingWith({ ...keys.chat(workspaceId, chatId), sk: 'BATCH#' }),
    ProjectionExpression: 'sk',
  });
  for await (const page of requests)
    if (page.some(({ sk }) => batchIds.has((sk as string).split('#')[1]))) return true;
  return false;
}
