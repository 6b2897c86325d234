import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { expect, it } from 'vitest';
import { dynamoTable } from '#adapters/dynamo/table/table.ts';

const key = { pk: 'P', sk: 'S' };

/**
 * DynamoDB makes the items of one transaction visible one by one. The local emulator never does, so its responses are
 * scripted.
 */
function tableWithItemAfter(checks: number) {
  let reads = 0;
  const send = async () => {
    reads += 1;
    return reads > checks ? { Item: marshall(key) } : {};
  };
  return { table: dynamoTable({ send } as unknown as DynamoDBClient, 'table'), reads: () => reads };
}

it('waits for an item that is named but does not show yet', async () => {
  const { table, reads } = tableWithItemAfter(2);
  expect(await table.getNamed(key)).toEqual(key);
  expect(reads()).toBe(3);
});

it('says so when it never shows', async () => {
  const { table, reads } = tableWithItemAfter(Number.POSITIVE_INFINITY);
  await expect(table.getNamed(key)).rejects.toThrow('named by another but missing');
  expect(reads()).toBe(8);
});

it('does not wait for an item that nothing names', async () => {
  const { table, reads } = tableWithItemAfter(1);
  expect(await table.get(key)).toBeUndefined();
  expect(reads()).toBe(1);
});
