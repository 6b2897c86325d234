import type { ApiKey } from '#domain/api-key.ts';
import type { ApiKeyStore } from '#domain/ports/api-key-store.ts';
import { keys } from './keys.ts';
import type { Item, Table } from './table.ts';

const apiKeyOf = (item: Item): ApiKey => ({
  id: item.id as string,
  workspaceId: item.workspace_id as string,
  hash: item.hash as string,
  prefix: item.prefix as string,
  lastFour: item.last_four as string,
  name: item.name as string | null,
  createdAt: item.created_at as string,
  expiresAt: item.expires_at as string | null,
  revokedAt: item.revoked_at as string | null,
});

const itemOf = (key: ApiKey): Item => ({
  id: key.id,
  workspace_id: key.workspaceId,
  hash: key.hash,
  prefix: key.prefix,
  last_four: key.lastFour,
  name: key.name,
  created_at: key.createdAt,
  expires_at: key.expiresAt,
  revoked_at: key.revokedAt,
});

export function dynamoApiKeyStore(table: Table): ApiKeyStore {
  const byHash = async (hash: string): Promise<ApiKey | undefined> => {
    const item = await table.get(keys.apiKey(hash));
    return item && apiKeyOf(item);
  };
  return {
    byHash,
    async put(key) {
      const pointer = { hash: key.hash };
      await table.transact((TableName) => [
        { Put: { TableName, Item: { ...keys.apiKey(key.hash), ...itemOf(key) } } },
        { Put: { TableName, Item: { ...keys.apiKeyOfWorkspace(key.workspaceId, key.id), ...pointer } } },
        { Put: { TableName, Item: { ...keys.operatorsApiKey(key.id), ...pointer } } },
      ]);
    },
    async list(workspaceId) {
      const found: (ApiKey | undefined)[] = [];
      const pages = table.queryPages({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': keys.apiKeyOfWorkspace(workspaceId, '').pk },
      });
      for await (const page of pages)
        found.push(...(await Promise.all(page.map((item) => byHash(item.hash as string)))));
      return found
        .filter((key) => key !== undefined)
        .sort((one, other) => one.createdAt.localeCompare(other.createdAt));
    },
    async revoke(keyId, at) {
      const pointer = await table.get(keys.operatorsApiKey(keyId));
      if (pointer === undefined) return undefined;
      return apiKeyOf(
        await table.update({
          Key: keys.apiKey(pointer.hash as string),
          UpdateExpression: 'SET revoked_at = :at',
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: { ':at': at },
          ReturnValues: 'ALL_NEW',
        }),
      );
    },
  };
}
