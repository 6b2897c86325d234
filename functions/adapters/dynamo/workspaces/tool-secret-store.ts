import { keys } from '#adapters/dynamo/table/keys.ts';
import { allOf, attributesOf, fieldsOf, type Item, type Table } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { ToolSecret, ToolSecretStore } from '#domain/tools/tool-secret.ts';
import type { Audit } from './api-key-store.ts';

const secretOf = ({ sk, ...item }: Item): ToolSecret => ({
  ...fieldsOf<Omit<ToolSecret, 'name'>>(item),
  name: sk as string,
});

export const dynamoToolSecretStore = (table: Table, audit: Audit): ToolSecretStore => ({
  async get(workspaceId, name) {
    const item = await table.get(keys.toolSecret(workspaceId, name));
    return item && secretOf(item);
  },

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
