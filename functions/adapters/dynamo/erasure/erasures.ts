import {
  countItemOf,
  countsOf,
  outboxKey,
  purgeItem,
  updateSame,
} from '#adapters/dynamo/chats/purge-outbox.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { allOf, type Table } from '#adapters/dynamo/table/table.ts';
import { auditBy } from '#adapters/dynamo/workspaces/audit-log.ts';
import { hashUsers } from '#adapters/dynamo/workspaces/user-hashes.ts';
import type { Erasures } from '#domain/erasure/services.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { Person } from '#domain/workspaces/person.ts';

export const dynamoErasures = (table: Table, clock: Clock): Erasures => ({
  async request(erasure, actor, erased = {}) {
    const { workspaceId, externalUserId } = erasure;
    const isKnown = await hasItems(table, erasure);
    const [target = ''] = isKnown ? await hashUsers(table, workspaceId, [externalUserId]) : [];
    await table.transact([
      { Put: { Item: { ...purgeItem(erasure), ...countItemOf(erased) } } },
      // Anybody with a key may name users that never were: their erasures leave nothing that stays.
      ...(isKnown ? auditBy(clock, () => actor)('user erased', workspaceId, target, {}) : []),
    ]);
  },
  async erased(person) {
    const item = await table.get(outboxKey({ ...person, deletedAt: '' }));
    return item && countsOf(item);
  },
  add: (erasure, erased) => updateSame(table, erasure, '', {}, erased),
});

/** Whether the person has chats, ratings or requests of batches. */
async function hasItems(table: Table, { workspaceId, externalUserId }: Person): Promise<boolean> {
  const { pk } = keys.chatList(workspaceId, { externalUserId }).entry(0);
  for await (const page of table.queryPages({ ...allOf({ pk }), Limit: 1 })) return page.length > 0;
  return false;
}
