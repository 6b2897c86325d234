import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  formatOpenBatches,
  formatRateLimit,
  type Limits,
  openBatchesLimit,
  rateClasses,
  rateLimit,
} from '#contract/rate-limits.ts';
import type { WorkspaceChanges, WorkspaceStore } from '#domain/ports/workspace-store.ts';
import type { Workspace } from '#domain/workspace.ts';
import { keys } from './keys.ts';
import type { Item, Table } from './table.ts';

const workspaceOf = (item: Item): Workspace => ({
  id: item.id as string,
  name: item.name as string,
  enabled: item.enabled as boolean,
  whitelistEnabled: item.whitelist_enabled as boolean,
  titlesEnabled: item.titles_enabled as boolean,
  limits: item.limits as Workspace['limits'],
  ownLimits: ownLimitsOf(item),
  createdAt: item.created_at as string,
});

/** Of an item, or of changes to one: an attribute that is null goes. */
const itemOf = ({
  ownLimits = {},
  ...workspace
}: Omit<Partial<Workspace>, 'ownLimits'> & WorkspaceChanges): Item => ({
  id: workspace.id,
  name: workspace.name,
  enabled: workspace.enabled,
  whitelist_enabled: workspace.whitelistEnabled,
  titles_enabled: workspace.titlesEnabled,
  limits: workspace.limits,
  created_at: workspace.createdAt,
  ...Object.fromEntries(
    rateClasses.map((name) => [limitAttribute[name], textOf(ownLimits[name], formatRateLimit)]),
  ),
  [limitAttribute.openBatches]: textOf(ownLimits.openBatches, formatOpenBatches),
});

/** An attribute each, so that operators can change one beside another. */
const limitAttribute: Record<keyof Limits, string> = {
  reads: 'limit_reads',
  writes: 'limit_writes',
  sends: 'limit_sends',
  uploads: 'limit_uploads',
  batches: 'limit_batches',
  openBatches: 'limit_open_batches',
};

const textOf = <Limit>(
  limit: Limit | 'stage' | undefined,
  format: (limit: Limit) => string,
): string | null | undefined => (limit === 'stage' ? null : limit === undefined ? undefined : format(limit));

function ownLimitsOf(item: Item): Partial<Limits> {
  const own: Partial<Limits> = {};
  for (const name of rateClasses)
    if (item[limitAttribute[name]] !== undefined) own[name] = rateLimit.parse(item[limitAttribute[name]]);
  if (item[limitAttribute.openBatches] !== undefined)
    own.openBatches = openBatchesLimit.parse(item[limitAttribute.openBatches]);
  return own;
}

export function dynamoWorkspaceStore(table: Table): WorkspaceStore {
  const get = async (workspaceId: string): Promise<Workspace | undefined> => {
    const item = await table.get(keys.workspace(workspaceId));
    return item && workspaceOf(item);
  };
  return {
    get,
    async isListed(workspaceId, externalUserId) {
      return (await table.get(keys.whitelistEntry(workspaceId, externalUserId))) !== undefined;
    },
    async put(workspace) {
      await table.transact((TableName) => [
        { Put: { TableName, Item: { ...keys.workspace(workspace.id), ...itemOf(workspace) } } },
        { Put: { TableName, Item: keys.operatorsWorkspace(workspace.id) } },
      ]);
    },
    async update(workspaceId, changes) {
      const changed = Object.entries(itemOf(changes)).filter(([, value]) => value !== undefined);
      if (changed.length === 0) return get(workspaceId);
      const [set, removed] = [
        changed.filter(([, value]) => value !== null),
        changed.filter(([, value]) => value === null),
      ];
      const clause = (verb: string, parts: string[]) =>
        parts.length === 0 ? [] : [`${verb} ${parts.join(', ')}`];
      try {
        return workspaceOf(
          await table.update({
            Key: keys.workspace(workspaceId),
            UpdateExpression: [
              ...clause(
                'SET',
                set.map(([name]) => `#${name} = :${name}`),
              ),
              ...clause(
                'REMOVE',
                removed.map(([name]) => `#${name}`),
              ),
            ].join(' '),
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeNames: Object.fromEntries(changed.map(([name]) => [`#${name}`, name])),
            ...(set.length > 0 && {
              ExpressionAttributeValues: Object.fromEntries(set.map(([name, value]) => [`:${name}`, value])),
            }),
            ReturnValues: 'ALL_NEW',
          }),
        );
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return undefined;
        throw error;
      }
    },
    async list() {
      const workspaces: (Workspace | undefined)[] = [];
      const pages = table.queryPages({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': keys.operatorsWorkspace('').pk },
      });
      for await (const page of pages)
        workspaces.push(...(await Promise.all(page.map((item) => get(item.sk as string)))));
      return workspaces.filter((workspace) => workspace !== undefined);
    },
    async addToWhitelist(workspaceId, externalUserIds) {
      for (const user of externalUserIds) await table.put({ Item: keys.whitelistEntry(workspaceId, user) });
    },
    async removeFromWhitelist(workspaceId, externalUserIds) {
      for (const user of externalUserIds)
        await table.transact((TableName) => [
          { Delete: { TableName, Key: keys.whitelistEntry(workspaceId, user) } },
        ]);
    },
  };
}
