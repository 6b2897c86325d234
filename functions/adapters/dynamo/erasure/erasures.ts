import { purgeItem } from '#adapters/dynamo/chats/purge-outbox.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { auditBy } from '#adapters/dynamo/workspaces/audit-log.ts';
import { hashUsers } from '#adapters/dynamo/workspaces/user-hashes.ts';
import type { Erasures } from '#domain/erasure/services.ts';
import type { Clock } from '#domain/platform/clock.ts';

export const dynamoErasures = (table: Table, clock: Clock): Erasures => ({
  async request(erasure, actor) {
    const { workspaceId, externalUserId } = erasure;
    const [target = ''] = await hashUsers(table, workspaceId, [externalUserId]);
    await table.transact((TableName) => [
      { Put: { TableName, Item: purgeItem(erasure) } },
      ...auditBy(clock, () => actor)(TableName, {
        ...{ action: 'user erased', workspaceId, target },
        changes: {},
      }),
    ]);
  },
});
