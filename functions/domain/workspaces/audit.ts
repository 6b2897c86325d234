export type AuditAction =
  | 'workspace created'
  | 'workspace updated'
  | 'key created'
  | 'key rotated'
  | 'key revoked'
  | 'agent created'
  | 'agent updated'
  | 'agent published'
  | 'agent unpublished'
  | 'whitelist extended'
  | 'whitelist reduced'
  | 'knowledge changed'
  | 'webhook resent';

/** What an operator did. It is written with the change, so that there is none without the other. */
export interface AuditEntry {
  at: string;
  /** In AWS the ARN that STS knows the operator by; on a local run the user of the machine. */
  actor: string;
  action: AuditAction;
  workspaceId: string;
  /** Id of what was changed. */
  target: string;
  /** What is different now. Never a key, a secret, or a text that agents are told. */
  changes: Record<string, unknown>;
}

/** What a change consists of: each field that differs, as it was and as it is. */
export function changesOf(before: object, after: object): Record<string, { from: unknown; to: unknown }> {
  const old = before as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(after)
      .filter(([name, value]) => JSON.stringify(old[name]) !== JSON.stringify(value))
      .map(([name, value]) => [name, { from: old[name] ?? null, to: value }]),
  );
}
