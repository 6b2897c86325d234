import { isDeepStrictEqual } from 'node:util';

export type AuditAction =
  | 'workspace created'
  | 'workspace updated'
  | 'workspace deleted'
  | 'key created'
  | 'key rotated'
  | 'key revoked'
  | 'agent created'
  | 'agent updated'
  | 'agent published'
  | 'agent unpublished'
  | 'agent deleted'
  | 'whitelist extended'
  | 'whitelist reduced'
  | 'user erased'
  | 'knowledge changed'
  | 'prices changed'
  | 'secret set'
  | 'secret removed'
  | 'webhook resent'
  | 'webhook secret replaced';

/** A change by an operator, or an erasure that a client requested. */
export interface AuditEntry {
  at: string;
  /** For example an operator's ARN, or `API key` and the id of a client's key. */
  actor: string;
  action: AuditAction;
  workspaceId: string | null;
  /** For example an id, the name of a secret, or a hash of the id of an erased user. */
  target: string;
  /** Must contain no complete key, no secret and no text of an agent's prompt. */
  changes: Record<string, unknown>;
}

const storedForm = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

/**
 * Fields that only `before` has are left out. The order of an object's members does not count, because the table does
 * not keep it.
 */
export function changesOf(before: object, after: object): Record<string, { from: unknown; to: unknown }> {
  const old = before as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(after)
      .filter(([name, value]) => !isDeepStrictEqual(storedForm(old[name]), storedForm(value)))
      .map(([name, value]) => [name, { from: old[name] ?? null, to: value }]),
  );
}

export interface AuditLog {
  /** Oldest first; all entries if no workspace is given. `from` and `to` are UTC days like `2027-01-31`, included. */
  between(workspaceId: string | undefined, from: string, to: string): AsyncIterable<AuditEntry[]>;
}
