import { randomUUID } from 'node:crypto';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { AuditEntry } from '#domain/workspaces/audit.ts';
import type { AuditLog } from '#domain/workspaces/audit-log.ts';

/** What goes into the transaction of an operator's change: a row for its workspace, and one for all. */
export type Audit = (tableName: string, done: Omit<AuditEntry, 'at' | 'actor'>) => Write[];

/** Rows that every change has beside its own writes, of the hundred that a transaction may have. */
export const auditWrites = 2;

export const auditBy =
  (clock: Clock, actor: () => string): Audit =>
  (TableName, { action, workspaceId, target, changes }) => {
    const at = clock.now().toISOString();
    const entry = { at, actor: actor(), action, workspace_id: workspaceId, target, changes };
    const id = randomUUID();
    return [keys.audit(workspaceId, at, id), keys.operatorsAudit(at, id)].map((key) => ({
      Put: { TableName, Item: { ...key, ...entry } },
    }));
  };

export function dynamoAuditLog(table: Table): AuditLog {
  return {
    async *between(workspaceId, from, to) {
      const { pk } =
        workspaceId === undefined ? keys.operatorsAudit('', '') : keys.audit(workspaceId, '', '');
      const pages = table.queryPages({
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
        // Behind every moment of the last day, whose names go on with T.
        ExpressionAttributeValues: { ':pk': pk, ':from': from, ':to': `${to}U` },
      });
      for await (const page of pages) yield page.map(entryOf);
    },
  };
}

const entryOf = (item: Item): AuditEntry => ({
  at: item.at as string,
  actor: item.actor as string,
  action: item.action as AuditEntry['action'],
  workspaceId: item.workspace_id as string,
  target: item.target as string,
  changes: item.changes as AuditEntry['changes'],
});
