import { readGoneRoot } from './gone-indexes.ts';
import { readHead } from './id-lists.ts';
import type { Key, ListKeys } from './keys.ts';
import type { Table, Write } from './table.ts';
import { transactWithRetry } from './transact-with-retry.ts';

const attempts = 20;

/** DynamoDB's limit of one transaction. */
const maxWrites = 100;

/**
 * Removes a list whose ids are all gone; any other list stays. The transaction that removes the head also removes the
 * root and the leaves (up to 98 of them, for 784,000 ids), so that a new list of the same name does not find them. What is
 * left then, also after a crash, is removed as long as there is no new head.
 */
export async function removeList(table: Table, list: ListKeys): Promise<void> {
  for (let removed = 1; removed > 0; )
    removed = await transactWithRetry(table, {
      attempts,
      plan: async () => {
        const writes = await removing(table, list);
        return { writes: (TableName) => writes(TableName).slice(0, maxWrites), result: writes('').length };
      },
    });
}

async function removing(table: Table, list: ListKeys): Promise<(TableName: string) => Write[]> {
  const [{ count }, root] = await Promise.all([readHead<number>(table, list), readGoneRoot(table, list)]);
  if (count > root.total) return () => [];
  if (count > 0) {
    const leaves = await keysWith(table, list, 'GONE#LEAF#');
    return (TableName) => [
      { Delete: { TableName, Key: list.head, ...isStill('count', count) } },
      { Delete: { TableName, Key: list.goneRoot, ...isStill('gone', count) } },
      ...leaves.map((Key) => ({ Delete: { TableName, Key } })),
    ];
  }
  const left = [...(await keysWith(table, list, 'GONE#')), ...(await keysWith(table, list, 'CHUNK#'))];
  if (left.length === 0) return () => [];
  return (TableName) => [
    {
      ConditionCheck: { TableName, Key: list.head, ConditionExpression: 'attribute_not_exists(pk)' },
    },
    ...left.map((Key) => ({ Delete: { TableName, Key } })),
  ];
}

const isStill = (name: string, value: number) => ({
  ConditionExpression: '#name = :value',
  ExpressionAttributeNames: { '#name': name },
  ExpressionAttributeValues: { ':value': value },
});

async function keysWith(table: Table, { head: { pk } }: ListKeys, prefix: string): Promise<Key[]> {
  const pages = table.queryPages({
    KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
    ProjectionExpression: 'pk, sk',
    ExpressionAttributeValues: { ':pk': pk, ':prefix': prefix },
  });
  return (await Array.fromAsync(pages))
    .flat()
    .map((item) => ({ pk: item.pk as string, sk: item.sk as string }));
}
