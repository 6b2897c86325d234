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

/** What an operator did, or that a client requested an erasure. */
export interface AuditEntry {
  at: string;
  /**
   * In AWS, the operator's ARN as STS reports it. On a local run, the name of the machine's user. For an erasure that a
   * client requested, `API key` and the key's id.
   */
  actor: string;
  action: AuditAction;
  /** Null for prices, which apply to all workspaces. */
  workspaceId: string | null;
  /**
   * Names what was changed: by its id, or, for example, by the name of a secret, or a hash of the id of an erased user.
   */
  target: string;
  /** What has changed. It contains no complete key, no secret and no text of an agent's prompt. */
  changes: Record<string, unknown>;
}

/** The value as a store returns it: without undefined members. */
const storedForm = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

/**
 * Each field of `after` that differs, with its old value, or null if there was none, and its new value. Fields that
 * only `before` has are left out. The order of an object's members does not count, because the table does not keep it.
 */
export function changesOf(before: object, after: object): Record<string, { from: unknown; to: unknown }> {
  const old = before as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(after)
      .filter(([name, value]) => !isDeepStrictEqual(storedForm(old[name]), storedForm(value)))
      .map(([name, value]) => [name, { from: old[name] ?? null, to: value }]),
  );
}

/** Reads the entries of the audit. */
export interface AuditLog {
  /**
   * The entries of the given days, oldest first, in pages.
   * @param workspaceId undefined for all workspaces
   * @param from first UTC day, such as `2027-01-31`
   * @param to last UTC day, included
   */
  between(workspaceId: string | undefined, from: string, to: string): AsyncIterable<AuditEntry[]>;
}
