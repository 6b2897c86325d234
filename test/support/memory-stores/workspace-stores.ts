import { createHmac } from 'node:crypto';
import { formatLimits, type Limits } from '#contract/rate-limits.ts';
import type { ApiKey } from '#domain/workspaces/api-key.ts';
import type { ApiKeyStore } from '#domain/workspaces/api-key-store.ts';
import { type AuditEntry, changesOf } from '#domain/workspaces/audit.ts';
import type { AuditLog } from '#domain/workspaces/audit-log.ts';
import type { FullTimes, RateBucketStore } from '#domain/workspaces/rate-bucket-store.ts';
import {
  type DayOfUsage,
  noCounts,
  noModelUsage,
  sumOfCounts,
  sumOfModelUsage,
  usageByModel,
} from '#domain/workspaces/usage.ts';
import type { UsageStore } from '#domain/workspaces/usage-store.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import type { WorkspaceStore } from '#domain/workspaces/workspace-store.ts';
import type { StoreSettings } from '../open-stores.ts';

/** Adds the audit entry of a change. */
export type MemoryAudit = (change: Omit<AuditEntry, 'at' | 'actor'>) => void;

export function memoryAuditLog({ clock, actor }: StoreSettings): { auditLog: AuditLog; audit: MemoryAudit } {
  const entries: AuditEntry[] = [];
  return {
    audit(change) {
      entries.push(structuredClone({ at: clock.now().toISOString(), actor: actor(), ...change }));
    },
    auditLog: {
      async *between(workspaceId, from, to) {
        yield structuredClone(
          entries.filter(
            (entry) =>
              (workspaceId === undefined || entry.workspaceId === workspaceId) &&
              entry.at.slice(0, 10) >= from &&
              entry.at.slice(0, 10) <= to,
          ),
        );
      },
    },
  };
}

export function memoryWorkspaceStore(audit: MemoryAudit): WorkspaceStore {
  const workspaces = new Map<string, Workspace>();
  const listedUsers = new Set<string>();
  const nameOf = (workspaceId: string, user: string): string => JSON.stringify([workspaceId, user]);
  const get = (workspaceId: string) => structuredClone(workspaces.get(workspaceId));
  return {
    get: async (workspaceId) => get(workspaceId),
    isListed: async (workspaceId, user) => listedUsers.has(nameOf(workspaceId, user)),
    async *listed(workspaceId) {
      const names = [...listedUsers].map((name) => JSON.parse(name) as [string, string]);
      yield names.filter(([id]) => id === workspaceId).map(([, user]) => user);
    },
    async put(workspace) {
      workspaces.set(workspace.id, structuredClone(workspace));
      const { id, name, whitelistEnabled, limits } = workspace;
      const changes = { name, whitelistEnabled, limits };
      audit({ action: 'workspace created', workspaceId: id, target: id, changes });
    },
    async update(workspaceId, changes) {
      const before = get(workspaceId);
      const { ownLimits = {}, ...fields } = changes;
      if (before === undefined || Object.keys({ ...fields, ...ownLimits }).length === 0) return before;
      const limits = Object.entries({ ...before.ownLimits, ...ownLimits });
      workspaces.set(
        workspaceId,
        structuredClone({
          ...before,
          ...fields,
          ownLimits: Object.fromEntries(limits.filter(([, limit]) => limit !== 'stage')) as Partial<Limits>,
        }),
      );
      const target = workspaceId;
      audit({ action: 'workspace updated', workspaceId, target, changes: changesOf(before, changes) });
      return get(workspaceId);
    },
    list: async () => [...workspaces.keys()].sort().map((id) => get(id) as Workspace),
    async addToWhitelist(workspaceId, externalUserIds) {
      const users = [...new Set(externalUserIds)];
      if (users.length === 0) return;
      for (const user of users) listedUsers.add(nameOf(workspaceId, user));
      audit({
        action: 'whitelist extended',
        workspaceId,
        target: workspaceId,
        changes: { users: hashesOf(workspaceId, users) },
      });
    },
    async removeFromWhitelist(workspaceId, externalUserIds) {
      const users = [...new Set(externalUserIds)];
      if (users.length === 0) return;
      for (const user of users) listedUsers.delete(nameOf(workspaceId, user));
      audit({
        action: 'whitelist reduced',
        workspaceId,
        target: workspaceId,
        changes: { users: hashesOf(workspaceId, users) },
      });
    },
  };
}

const hashesOf = (workspaceId: string, users: readonly string[]): string[] =>
  users.map((user) => `user_${createHmac('sha256', workspaceId).update(user).digest('hex').slice(0, 32)}`);

export function memoryApiKeyStore(audit: MemoryAudit): ApiKeyStore {
  const apiKeys = new Map<string, ApiKey>();
  const find = (keyId: string): ApiKey | undefined => [...apiKeys.values()].find(({ id }) => id === keyId);
  const add = (key: ApiKey): void => {
    apiKeys.set(key.hash, structuredClone({ ...key, lastUsedOn: null }));
  };
  const auditedFields = ({ name, expiresAt, prefix, lastFour }: ApiKey) => ({
    name,
    expires_at: expiresAt,
    key: `${prefix}…${lastFour}`,
  });
  return {
    byHash: async (hash) => structuredClone(apiKeys.get(hash)),
    byId: async (keyId) => structuredClone(find(keyId)),
    async put(key) {
      add(key);
      const { workspaceId, id: target } = key;
      audit({ action: 'key created', workspaceId, target, changes: auditedFields(key) });
    },
    async list(workspaceId) {
      return structuredClone([...apiKeys.values()])
        .filter((key) => key.workspaceId === workspaceId)
        .sort((one, other) => one.createdAt.localeCompare(other.createdAt));
    },
    async revoke(keyId, at) {
      const key = find(keyId);
      if (key?.revokedAt === null) {
        key.revokedAt = at;
        const { workspaceId, id: target } = key;
        audit({ action: 'key revoked', workspaceId, target, changes: { revoked_at: at } });
      }
      return structuredClone(key);
    },
    async replace(old, expiresAt, key) {
      const stored = apiKeys.get(old.hash);
      if (stored === undefined || stored.revokedAt !== null || stored.expiresAt !== old.expiresAt)
        return false;
      stored.expiresAt = expiresAt;
      add(key);
      const { workspaceId, id: target } = old;
      const ends = { from: old.expiresAt, to: expiresAt };
      const changes = { ends, new_key_id: key.id, ...auditedFields(key) };
      audit({ action: 'key rotated', workspaceId, target, changes });
      return true;
    },
    async markUsed({ hash }, day, signal) {
      signal.throwIfAborted();
      const stored = apiKeys.get(hash);
      if (stored !== undefined && (stored.lastUsedOn ?? '') < day) stored.lastUsedOn = day;
    },
  };
}

export function memoryRateBucketStore(): RateBucketStore {
  const items = new Map<string, FullTimes>();
  return {
    async take({ workspaceId, apiKeyId, limits }, changes, { now }) {
      const name = JSON.stringify([workspaceId, apiKeyId, formatLimits(limits)]);
      const found = items.get(name) ?? {};
      const next = { ...found };
      for (const { rateClass, amount, isFull, latest } of changes) {
        const fullAt = found[rateClass] ?? 0;
        if (isFull !== fullAt <= now || (!isFull && latest !== null && fullAt > latest))
          return { taken: false, fullTimes: found };
        next[rateClass] = isFull ? now + amount : fullAt + amount;
      }
      items.set(name, next);
      return { taken: true, fullTimes: next };
    },
  };
}

export function memoryUsageStore(): UsageStore {
  const days = new Map<string, DayOfUsage>();
  return {
    async add({ counts, calls, ...owner }, day) {
      const { workspaceId, apiKeyId, agentId } = owner;
      if (calls.length === 0 && Object.values(counts).every((amount) => amount === 0)) return;
      const name = JSON.stringify([workspaceId, day, apiKeyId, agentId]);
      const before = days.get(name) ?? { ...owner, day, counts: noCounts, models: {} };
      const models = { ...before.models };
      for (const [model, used] of Object.entries(usageByModel(calls)))
        models[model] = sumOfModelUsage(models[model] ?? noModelUsage, used);
      days.set(name, { ...before, counts: sumOfCounts(before.counts, { ...noCounts, ...counts }), models });
    },
    async *between(workspaceId, from, to) {
      const sortKey = ({ day, apiKeyId, agentId }: DayOfUsage) => `${day}#${apiKeyId}#${agentId ?? ''}`;
      yield structuredClone([...days.values()])
        .filter((usage) => usage.workspaceId === workspaceId && usage.day >= from && usage.day <= to)
        .sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
    },
  };
}
