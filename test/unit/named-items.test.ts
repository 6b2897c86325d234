import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { expect, it } from 'vitest';
import { dynamoTable } from '#adapters/dynamo/table/table.ts';

const key = { pk: 'P', sk: 'S' };

/** DynamoDB shows the items of one transaction one by one; the local engine never does, so its answers stand here. */
function tableThatShowsAfter(checks: number) {
  let checked = 0;
  const send = async () => {
    checked += 1;
    return checked > checks ? { Item: marshall(key) } : {};
  };
  return { table: dynamoTable({ send } as unknown as DynamoDBClient, 'table'), checked: () => checked };
}

it('waits for an item that is named but does not show yet', async () => {
  const { table, checked } = tableThatShowsAfter(2);
  expect(await table.getNamed(key)).toEqual(key);
  expect(checked()).toBe(3);
});

it('says so when it never shows', async () => {
  const { table, checked } = tableThatShowsAfter(Number.POSITIVE_INFINITY);
  await expect(table.getNamed(key)).rejects.toThrow('named by another but missing');
  expect(checked()).toBe(8);
});

it('does not wait for an item that nothing names', async () => {
  const { table, checked } = tableThatShowsAfter(1);
  expect(await table.get(key)).toBeUndefined();
  expect(checked()).toBe(1);
});
