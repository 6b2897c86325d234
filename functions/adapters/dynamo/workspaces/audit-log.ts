import { randomUUID } from 'node:crypto';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { between, fieldsOf, type Table, type Write } from '#adapters/dynamo/table/table.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { AuditAction, AuditEntry } from '#domain/workspaces/audit.ts';
import type { AuditLog } from '#domain/workspaces/audit-log.ts';

/** Returns the audit items for a change's transaction: one for its workspace, one for all workspaces. */
export type Audit = (
  action: AuditAction,
  workspaceId: string,
  target: string,
  changes: AuditEntry['changes'],
) => Write[];

/** Number of audit writes in every transaction of a change. A transaction has at most 100 writes. */
export const auditWrites = 2;

export const auditBy = (clock: Clock, actor: () => string): Audit =>
  auditWith(clock, actor, (workspaceId, at, id) => [
    keys.audit(workspaceId, at, id),
    keys.operatorsAudit(at, id),
  ]);

/** Writes the entry for all workspaces alone. */
export const operatorsAuditBy = (clock: Clock, actor: () => string): Audit =>
  auditWith(clock, actor, (_workspaceId, at, id) => [keys.operatorsAudit(at, id)]);

const auditWith =
  (clock: Clock, actor: () => string, keysOf: (...given: Parameters<typeof keys.audit>) => Key[]): Audit =>
  (action, workspaceId, target, changes) => {
    const at = clock.now().toISOString();
    const entry = { at, actor: actor(), action, workspace_id: workspaceId, target, changes };
    return keysOf(workspaceId, at, randomUUID()).map((key) => ({ Put: { Item: { ...key, ...entry } } }));
  };

export function dynamoAuditLog(table: Table): AuditLog {
  return {
    async *between(workspaceId, from, to) {
      const { pk } =
        workspaceId === undefined ? keys.operatorsAudit('', '') : keys.audit(workspaceId, '', '');
      // `U` sorts after every time of the last day: in a key, `T` follows the day.
      for await (const page of table.queryPages(between({ pk, sk: from }, { sk: `${to}U` })))
        yield page.map((item) => fieldsOf<AuditEntry>(item));
    },
  };
}
