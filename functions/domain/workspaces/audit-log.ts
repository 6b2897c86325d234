import type { AuditEntry } from './audit.ts';

/** What operators did. Stores write it, each with the change itself. */
export interface AuditLog {
  /**
   * Oldest first, page by page.
   * @param workspaceId of all workspaces when there is none
   * @param from @param to the first and the last day, in UTC, `2027-01-31`
   */
  between(workspaceId: string | undefined, from: string, to: string): AsyncIterable<AuditEntry[]>;
}
