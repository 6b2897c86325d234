import { countItemOf, countsOf, keyOf, purgeItem, updateSame } from '#adapters/dynamo/chats/purge-outbox.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { auditBy } from '#adapters/dynamo/workspaces/audit-log.ts';
import { hashUsers } from '#adapters/dynamo/workspaces/user-hashes.ts';
import type { Erasures } from '#domain/erasure/services.ts';
import type { Clock } from '#domain/platform/clock.ts';

export const dynamoErasures = (table: Table, clock: Clock): Erasures => ({
  async request(erasure, actor, erased = {}) {
    const { workspaceId, externalUserId } = erasure;
    const [target = ''] = await hashUsers(table, workspaceId, [externalUserId]);
    await table.transact((TableName) => [
      { Put: { TableName, Item: { ...purgeItem(erasure), ...countItemOf(erased) } } },
      ...auditBy(clock, () => actor)(TableName, {
        ...{ action: 'user erased', workspaceId, target },
        changes: {},
      }),
    ]);
  },
  async erased(person) {
    const item = await table.get(keyOf({ ...person, deletedAt: '' }));
    return item && countsOf(item);
  },
  add: (erasure, erased) => updateSame(table, erasure, '', {}, erased),
});
