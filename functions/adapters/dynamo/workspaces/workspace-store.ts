import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { adding, type ScanKeys } from '#adapters/dynamo/table/lists.ts';
import {
  allOf,
  attributesOf,
  changing,
  fieldsOf,
  getAs,
  type Item,
  keyOf,
  type Table,
  type Write,
  withoutNulls,
} from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import {
  formatOpenBatches,
  formatRateLimit,
  type Limits,
  limitName,
  openBatchesLimit,
  type RateClass,
  rateClasses,
  rateLimit,
} from '#contract/rate-limits.ts';
import { groupsOf } from '#domain/platform/services.ts';
import type { ToolSecret, ToolSecretStore } from '#domain/tools/tool-secret.ts';
import { type AuditAction, changesOf } from '#domain/workspaces/audit.ts';
import type {
  Workspace,
  WorkspaceChanges,
  WorkspaceDeletion,
  WorkspaceStore,
} from '#domain/workspaces/workspace.ts';
import { type Audit, auditWrites } from './api-key-store.ts';
import { hashUsers } from './usage-store.ts';

const workspaceOf = (item: Item): Workspace => ({
  id: item.id as string,
  name: item.name as string,
  enabled: item.enabled as boolean,
  whitelistEnabled: item.whitelist_enabled as boolean,
  titlesEnabled: item.titles_enabled as boolean,
  // Workspaces that are older than this attribute do not have it.
  openAiEnabled: item.openai_enabled === true,
  limits: item.limits as Workspace['limits'],
  ownLimits: ownLimitsOf(item),
  retentionDays: (item.retention_days as number | undefined) ?? null,
  createdAt: item.created_at as string,
});

const itemOf = ({
  ownLimits = {},
  openAiEnabled,
  ...workspace
}: Omit<Partial<Workspace>, 'ownLimits'> & WorkspaceChanges): Item => ({
  ...attributesOf(workspace),
  openai_enabled: openAiEnabled,
  ...Object.fromEntries(
    rateClasses.map((name) => [limitAttribute(name), textOf(ownLimits[name], formatRateLimit)]),
  ),
  [limitAttribute('openBatches')]: textOf(ownLimits.openBatches, formatOpenBatches),
});

/** Each limit has its own attribute, so that operators can change different limits concurrently. */
const limitAttribute = (name: RateClass | 'openBatches'): string =>
  `limit_${name === 'openBatches' ? 'open_batches' : limitName(name, '_')}`;

const textOf = <Limit>(
  limit: Limit | 'stage' | undefined,
  format: (limit: Limit) => string,
): string | null | undefined => (limit === 'stage' ? null : limit === undefined ? undefined : format(limit));

function ownLimitsOf(item: Item): Partial<Limits> {
  const own: Partial<Limits> = {};
  for (const name of rateClasses)
    if (item[limitAttribute(name)] !== undefined) own[name] = rateLimit.parse(item[limitAttribute(name)]);
  if (item[limitAttribute('openBatches')] !== undefined)
    own.openBatches = openBatchesLimit.parse(item[limitAttribute('openBatches')]);
  return own;
}

/** A transaction has at most 100 writes. */
const usersPerTransaction = 100 - auditWrites;

export const dynamoWorkspaceStore = (table: Table, audit: Audit): WorkspaceStore => ({
  get: (workspaceId) => get(table, workspaceId),
  async put(workspace) {
    const { id: workspaceId, name, whitelistEnabled, limits } = workspace;
    await table.transact([
      { Put: { Item: { ...keys.workspace(workspaceId), ...withoutNulls(itemOf(workspace)) } } },
      { Put: { Item: keys.operatorsWorkspace(workspaceId) } },
      ...retentionWrites(workspaceId, workspace.retentionDays),
      ...audit('workspace created', workspaceId, workspaceId, { name, whitelistEnabled, limits }),
    ]);
  },

  async update(workspaceId, changes) {
    const change = changing({
      ...itemOf(changes),
      // An enabled workspace may be written to, so its deletion must wait anew. After `false`, that only costs time.
      ...(changes.enabled !== undefined && { deletion_started_at: null }),
    });
    const before = await get(table, workspaceId);
    if (before === undefined || change.UpdateExpression === '') return before;
    // Without it, the update would create the item of a workspace that was deleted meanwhile.
    const ConditionExpression = 'attribute_exists(pk)';
    const Key = keys.workspace(workspaceId);
    await transactIfFirst(table, () => [
      { Update: { Key, ConditionExpression, ...change } },
      ...retentionWrites(workspaceId, changes.retentionDays),
      ...audit('workspace updated', workspaceId, workspaceId, changesOf(before, changes)),
    ]);
    return get(table, workspaceId);
  },

  async list() {
    const items = await table.queryAll(allOf(keys.operatorsWorkspace('')));
    const workspaces = await Promise.all(items.map(({ sk }) => get(table, sk as string)));
    return workspaces.filter((workspace) => workspace !== undefined);
  },

  isListed: async (workspaceId, externalUserId) =>
    (await table.get(keys.whitelistEntry(workspaceId, externalUserId))) !== undefined,
  async *listed(workspaceId) {
    for await (const page of table.queryPages(allOf(keys.whitelistEntry(workspaceId, ''))))
      yield page.map(({ sk }) => sk as string);
  },

  addToWhitelist: changeWhitelist(table, audit, 'whitelist extended', (Item) => ({ Put: { Item } })),
  removeFromWhitelist: changeWhitelist(table, audit, 'whitelist reduced', (Key) => ({ Delete: { Key } })),
});

const get = (table: Table, workspaceId: string): Promise<Workspace | undefined> =>
  getAs(table, keys.workspace(workspaceId), workspaceOf);

/** @param days null if the workspace keeps unused chats; undefined for no change */
function retentionWrites(workspaceId: string, days: number | null | undefined): Write[] {
  const Key = keys.operatorsRetention(workspaceId);
  if (days === undefined) return [];
  return days === null
    ? [{ Delete: { Key } }]
    : [{ Put: { Item: { ...Key, workspace_id: workspaceId, days } } }];
}

const changeWhitelist =
  (
    table: Table,
    audit: Audit,
    action: 'whitelist extended' | 'whitelist reduced',
    write: (key: Key) => Write,
  ) =>
  async (workspaceId: string, externalUserIds: readonly string[]): Promise<void> => {
    const distinct = [...new Set(externalUserIds)];
    const hashes = await hashUsers(table, workspaceId, distinct);
    const hashed = distinct.map((user, index) => ({ user, hash: hashes[index] }));
    for (const group of groupsOf(hashed, usersPerTransaction))
      await transactIfFirst(table, () => [
        ...group.map(({ user }) => write(keys.whitelistEntry(workspaceId, user))),
        ...audit(action, workspaceId, workspaceId, { users: group.map(({ hash }) => hash) }),
      ]);
  };

/** Ten batch writes, which run concurrently. */
const deletesAtOnce = 250;

const deletedAction: AuditAction = 'workspace deleted';

/** @param audit it must not write to the workspace's own audit log, because no item of the workspace may remain */
export const dynamoWorkspaceDeletion = (table: Table, scan: ScanKeys, audit: Audit): WorkspaceDeletion => ({
  async start(workspaceId, at) {
    const { item } = await table.updateIf({
      Key: keys.workspace(workspaceId),
      UpdateExpression: 'SET enabled = :false, deletion_started_at = if_not_exists(deletion_started_at, :at)',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeValues: { ':at': at, ':false': false },
      ReturnValues: 'ALL_NEW',
    });
    await table.deleteAll([keys.operatorsRetention(workspaceId)]);
    return (
      item && {
        startedAt: item.deletion_started_at as string,
        deleted: {
          items: (item.deletion_items as number | undefined) ?? 0,
          objects: (item.deletion_objects as number | undefined) ?? 0,
        },
      }
    );
  },

  async deleteItems(workspaceId, onPage) {
    await scan(['workspace_id', 'action', 'id'], async (page) => {
      const own = page.filter((item) => isOf(workspaceId, item));
      // First, because the pointers are found by the items of the keys.
      const pointers = own.filter(isApiKey).map(({ id }) => keys.operatorsApiKey(id as string));
      await table.deleteAll(pointers);
      for (const group of groupsOf(own, deletesAtOnce)) await table.deleteAll(group.map(keyOf));
      await onPage(page.length, own.length + pointers.length);
    });
  },

  async add(workspaceId, { items, objects }) {
    await table.update({
      Key: keys.workspace(workspaceId),
      ...adding(Object.entries({ deletion_items: items, deletion_objects: objects })),
      ConditionExpression: 'attribute_exists(pk)',
    });
  },

  async finish(workspaceId, { items, objects }) {
    await transactIfFirst(table, () => [
      { Delete: { Key: keys.workspace(workspaceId), ConditionExpression: 'attribute_exists(pk)' } },
      { Delete: { Key: keys.operatorsWorkspace(workspaceId) } },
      { Delete: { Key: keys.operatorsRetention(workspaceId) } },
      ...audit(deletedAction, workspaceId, workspaceId, { items, objects }),
    ]);
  },
});

/**
 * False for the workspace's own item and its list entry, which `finish` deletes, for the pointers to its API keys, and
 * for the audit entry of the deletion, which stays.
 */
function isOf(workspaceId: string, { pk, sk, workspace_id, action }: Item): boolean {
  const own = keys.workspace(workspaceId);
  if (pk === own.pk) return sk !== own.sk;
  return (
    (pk as string).startsWith(`${own.pk}#`) || (workspace_id === workspaceId && action !== deletedAction)
  );
}

const isApiKey = ({ pk, sk }: Item): boolean => (pk as string).startsWith('KEY#') && sk === 'KEY';

const secretOf = ({ sk, ...item }: Item): ToolSecret => ({
  ...fieldsOf<Omit<ToolSecret, 'name'>>(item),
  name: sk as string,
});

export const dynamoToolSecretStore = (table: Table, audit: Audit): ToolSecretStore => ({
  get: (workspaceId, name) => getAs(table, keys.toolSecret(workspaceId, name), secretOf),
  list: async (workspaceId) => (await table.queryAll(allOf(keys.toolSecret(workspaceId, '')))).map(secretOf),

  put: (workspaceId, { name, ...secret }) =>
    table.transact([
      { Put: { Item: { ...keys.toolSecret(workspaceId, name), ...attributesOf(secret) } } },
      ...audit('secret set', workspaceId, name, { hosts: secret.hosts }),
    ]),

  remove: (workspaceId, name) =>
    transactIfFirst(table, () => [
      { Delete: { Key: keys.toolSecret(workspaceId, name), ConditionExpression: 'attribute_exists(pk)' } },
      ...audit('secret removed', workspaceId, name, {}),
    ]),
});
