import { BatchGetItemCommand, BatchWriteItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dynamoTable } from '#adapters/dynamo/table/table.ts';

// No jitter: the delays between attempts are zero.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

const keyOf = (pk: string) => ({ pk, sk: 'S' });
const isHot = (key: object | undefined): boolean => unmarshall({ ...key }).pk === 'hot';

/**
 * The responses are scripted, so that the partition `hot` is throttled as long as a test says.
 * @param failures how often no item of the hot partition is processed
 */
function tableWithHotPartition(failures: number) {
  const client = { batches: 0, answer: async () => undefined as unknown };
  const send = async (command: { input: object }) => {
    client.batches += 1;
    const isThrottled = client.batches <= failures;
    const { RequestItems = {} } = command.input as { RequestItems?: Record<string, unknown> };
    const whole = RequestItems.table;
    if (command instanceof BatchGetItemCommand) {
      const { Keys = [] } = whole as { Keys?: object[] };
      const hot = isThrottled ? Keys.filter(isHot) : [];
      const Items = Keys.filter((key) => !hot.includes(key));
      return { Responses: { table: Items }, UnprocessedKeys: hot.length > 0 ? { table: { Keys: hot } } : {} };
    }
    if (command instanceof BatchWriteItemCommand)
      return { UnprocessedItems: isThrottled ? { table: whole } : {} };
    // A read of one key, which the SDK's client retries itself.
    await client.answer();
    return { Item: marshall(keyOf('hot')) };
  };
  return { table: dynamoTable({ send } as unknown as DynamoDBClient, 'table'), client };
}

it('a read that was not processed delays no other reads of its batch', async () => {
  const { table, client } = tableWithHotPartition(1);
  const hot = Promise.withResolvers<void>();
  client.answer = () => hot.promise;
  const ended: string[] = [];
  const reads = ['hot', 'one', 'two'].map(async (pk) => {
    expect(await table.get(keyOf(pk))).toEqual(keyOf(pk));
    ended.push(pk);
  });
  await Promise.all(reads.slice(1));
  expect(ended).toEqual(['one', 'two']);
  hot.resolve();
  await Promise.all(reads);
  expect(ended).toEqual(['one', 'two', 'hot']);
});

it('a read that is throttled also alone fails as the SDK says', async () => {
  const { table, client } = tableWithHotPartition(1);
  client.answer = () => Promise.reject(new Error('Throttled'));
  const [hot, other] = await Promise.allSettled([table.get(keyOf('hot')), table.get(keyOf('one'))]);
  expect([hot.status, other.status]).toEqual(['rejected', 'fulfilled']);
  expect(client.batches).toBe(2);
});

it.each<[what: string, work: (table: ReturnType<typeof tableWithHotPartition>['table']) => Promise<unknown>]>(
  [
    ['writes', (table) => table.putAll([keyOf('hot')])],
    ['deletions', (table) => table.deleteAll([keyOf('hot')])],
  ],
)('%s that are never processed fail, and are not repeated for ever', async (_what, work) => {
  const { table, client } = tableWithHotPartition(1000);
  await expect(work(table)).rejects.toThrow('DynamoDB did not process all writes in 40 attempts');
  expect(client.batches).toBe(40);
});

it('writes that are processed at last are done', async () => {
  const { table, client } = tableWithHotPartition(39);
  await table.putAll([keyOf('hot')]);
  expect(client.batches).toBe(40);
});

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
