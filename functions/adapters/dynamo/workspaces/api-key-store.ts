import { randomUUID } from 'node:crypto';
import { keys } from '#adapters/dynamo/table/keys.ts';
import {
  allOf,
  attributesOf,
  between,
  changingIf,
  fieldsOf,
  getAs,
  type Item,
  type Table,
  type Write,
} from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Clock } from '#domain/platform/services.ts';
import type { ApiKey, ApiKeyStore } from '#domain/workspaces/api-key.ts';
import type { AuditAction, AuditEntry, AuditLog } from '#domain/workspaces/audit.ts';

const apiKeyOf = (item: Item): ApiKey => ({
  lastUsedOn: null,
  ...fieldsOf<Omit<ApiKey, 'lastUsedOn'>>(item),
});

function keyPuts({ lastUsedOn, ...key }: ApiKey): Write[] {
  const pointer = { hash: key.hash };
  return [
    { ...keys.apiKey(key.hash), ...attributesOf(key) },
    { ...keys.apiKeyOfWorkspace(key.workspaceId, key.id), ...pointer },
    { ...keys.operatorsApiKey(key.id), ...pointer },
  ].map((Item) => ({ Put: { Item } }));
}

const auditedFields = ({ name, expiresAt, prefix, lastFour }: ApiKey) => ({
  name,
  expires_at: expiresAt,
  key: `${prefix}…${lastFour}`,
});

export const dynamoApiKeyStore = (table: Table, audit: Audit): ApiKeyStore => ({
  ...auditedChanges(table, audit),
  byHash: (hash) => byHash(table, hash),
  byId: (keyId) => byId(table, keyId),
  async list(workspaceId) {
    const pointers = await table.queryAll(allOf(keys.apiKeyOfWorkspace(workspaceId, '')));
    const found = await Promise.all(pointers.map(({ hash }) => byHash(table, hash as string)));
    return found
      .filter((key) => key !== undefined)
      .sort((one, other) => one.createdAt.localeCompare(other.createdAt));
  },

  async markUsed({ hash }, day, signal) {
    await table.updateIf(
      {
        Key: keys.apiKey(hash),
        UpdateExpression: 'SET last_used_on = :day',
        ConditionExpression:
          'attribute_exists(pk) AND (attribute_not_exists(last_used_on) OR last_used_on < :day)',
        ExpressionAttributeValues: { ':day': day },
      },
      signal,
    );
  },
});

const auditedChanges = (table: Table, audit: Audit) =>
  ({
    async put(key) {
      await table.transact([
        ...keyPuts(key),
        ...audit('key created', key.workspaceId, key.id, auditedFields(key)),
      ]);
    },

    async revoke(keyId, at) {
      const key = await byId(table, keyId);
      if (key === undefined || key.revokedAt !== null) return key;
      const isRevoked = await transactIfFirst(table, () => [
        {
          Update: {
            Key: keys.apiKey(key.hash),
            ...changingIf({ revoked_at: at }, { revoked_at: null }),
          },
        },
        ...audit('key revoked', key.workspaceId, key.id, { revoked_at: at }),
      ]);
      return isRevoked ? { ...key, revokedAt: at } : byHash(table, key.hash);
    },

    replace: (old, expiresAt, key) =>
      transactIfFirst(table, () => [
        {
          Update: {
            Key: keys.apiKey(old.hash),
            ...changingIf({ expires_at: expiresAt }, { revoked_at: null, expires_at: old.expiresAt }),
          },
        },
        ...keyPuts(key),
        ...audit('key rotated', old.workspaceId, old.id, {
          ends: { from: old.expiresAt, to: expiresAt },
          new_key_id: key.id,
          ...auditedFields(key),
        }),
      ]),
  }) satisfies Partial<ApiKeyStore>;

const byHash = (table: Table, hash: string): Promise<ApiKey | undefined> =>
  getAs(table, keys.apiKey(hash), apiKeyOf);

const byId = (table: Table, keyId: string): Promise<ApiKey | undefined> =>
  getAs(table, keys.operatorsApiKey(keyId), ({ hash }) => byHash(table, hash as string));

export type Audit = (
  action: AuditAction,
  workspaceId: string | null,
  target: string,
  changes: AuditEntry['changes'],
) => Write[];

export const auditWrites = 2;

/** @param inWorkspace whether the entry is in the list of its workspace too */
export const auditBy =
  (clock: Clock, actor: () => string, { inWorkspace = true } = {}): Audit =>
  (action, workspaceId, target, changes) => {
    const [at, id] = [clock.now().toISOString(), randomUUID()];
    const entry = { at, actor: actor(), action, workspace_id: workspaceId, target, changes };
    const ofWorkspace = inWorkspace && workspaceId !== null ? [keys.audit(workspaceId, at, id)] : [];
    return [...ofWorkspace, keys.operatorsAudit(at, id)].map((key) => ({
      Put: { Item: { ...key, ...entry } },
    }));
  };

export const dynamoAuditLog = (table: Table): AuditLog => ({
  async *between(workspaceId, from, to) {
    const { pk } = workspaceId === undefined ? keys.operatorsAudit('', '') : keys.audit(workspaceId, '', '');
    // `U` sorts after every time of the last day: in a key, `T` follows the day.
    for await (const page of table.queryPages(between({ pk, sk: from }, { sk: `${to}U` })))
      yield page.map((item) => fieldsOf<AuditEntry>(item));
  },
});
