import type { AuditEntry } from './audit.ts';

/** What operators did. Each store writes the entry in the same transaction as the change. */
export interface AuditLog {
  /**
   * Oldest first, in pages.
   * @param workspaceId undefined for all workspaces
   * @param from first UTC day, such as `2027-01-31`
   * @param to last UTC day, included
   */
  between(workspaceId: string | undefined, from: string, to: string): AsyncIterable<AuditEntry[]>;
}
