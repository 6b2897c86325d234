import type { AuditEntry, AuditLog } from '#domain/workspaces/audit.ts';

/** All entries of a workspace, oldest first. The order of entries of the same millisecond is undefined. */
export const auditEntriesOf = async (auditLog: AuditLog, workspaceId: string): Promise<AuditEntry[]> =>
  (await Array.fromAsync(auditLog.between(workspaceId, '2027-01-01', '2027-12-31'))).flat();
