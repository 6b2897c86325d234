import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import type { WorkspaceStore } from '#domain/ports/workspace-store.ts';
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
  createdAt: item.created_at as string,
});

const itemOf = (workspace: Partial<Workspace>): Item => ({
  id: workspace.id,
  name: workspace.name,
  enabled: workspace.enabled,
  whitelist_enabled: workspace.whitelistEnabled,
  titles_enabled: workspace.titlesEnabled,
  limits: workspace.limits,
  created_at: workspace.createdAt,
});

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
      try {
        return workspaceOf(
          await table.update({
            Key: keys.workspace(workspaceId),
            UpdateExpression: `SET ${changed.map((_, index) => `#n${index} = :v${index}`).join(', ')}`,
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeNames: Object.fromEntries(
              changed.map(([name], index) => [`#n${index}`, name]),
            ),
            ExpressionAttributeValues: Object.fromEntries(
              changed.map(([, value], index) => [`:v${index}`, value]),
            ),
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
