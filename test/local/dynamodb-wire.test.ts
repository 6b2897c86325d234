import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DynamoDBClient,
  type DynamoDBServiceException,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { RunOptions } from '#local/run-template.ts';
import { type FixtureRun, startFixture } from './fixture/start-fixture.ts';

let run: FixtureRun;
let client: DynamoDBClient;
let TableName: string;
afterEach(async () => {
  client.destroy();
  await run.close();
});

async function start(options: Partial<RunOptions>): Promise<void> {
  run = await startFixture(options);
  TableName = Object.entries(run.physicalIds).find(([id]) => id.startsWith('Items'))?.[1] ?? '';
  client = new DynamoDBClient({
    endpoint: run.endpoints.dynamodb,
    region: 'us-east-1',
    credentials: operatorCredentials,
    maxAttempts: 1,
  });
}

const item = (pk: string, sk: string, bytes = 1) => ({
  pk: { S: pk },
  sk: { S: sk },
  text: { S: 'x'.repeat(bytes) },
});
const put = (pk: string, sk: string, bytes = 1) => ({ Put: { TableName, Item: item(pk, sk, bytes) } });
const transact = (...entries: ReturnType<typeof put>[]) =>
  client.send(new TransactWriteItemsCommand({ TransactItems: entries }));
const errorsOf = (outcomes: PromiseSettledResult<unknown>[]) =>
  outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as DynamoDBServiceException] : [],
  );

describe('transactions that overlap', () => {
  it('conflict on the item they share, and those on other items pass', async () => {
    await start({ faults: { transactionConflicts: true } });
    const many = Array.from({ length: 20 }, (_, index) =>
      transact(put('own', String(index)), put('shared', '1')),
    );
    const errors = errorsOf(await Promise.allSettled(many));
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.length).toBeLessThan(20);
    for (const error of errors) {
      expect(error).toMatchObject({
        name: 'TransactionCanceledException',
        message: expect.stringContaining('specific reasons [None, TransactionConflict]'),
        CancellationReasons: [
          { Code: 'None' },
          { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' },
        ],
        $metadata: { httpStatusCode: 400 },
      });
    }
    const apart = Array.from({ length: 20 }, (_, index) =>
      transact(put('own', String(index)), put('a', String(index))),
    );
    expect(errorsOf(await Promise.allSettled(apart))).toEqual([]);
    await transact(put('shared', '1'));
  });

  it('turn away single writes and batch entries of their items meanwhile', async () => {
    await start({ faults: { transactionConflicts: true } });
    // The proxy reads the first request before the second one is sent, and the emulator takes some time for 100 items.
    const large = () =>
      transact(
        ...Array.from({ length: 99 }, (_, index) => put(`large-${index}`, '1', 20_000)),
        put('shared', '1'),
      );
    const meanwhile = async <T>(work: () => Promise<T>) => {
      for (;;) {
        const writing = large();
        let ended = false;
        writing.finally(() => {
          ended = true;
        });
        while (!ended) {
          try {
            const result = await work();
            if (isUnprocessed(result)) return await writing.then(() => result);
          } catch (error) {
            await writing;
            return error;
          }
        }
      }
    };
    expect(
      await meanwhile(() => client.send(new PutItemCommand({ TableName, Item: item('shared', '1') }))),
    ).toMatchObject({
      name: 'TransactionConflictException',
      message: 'Transaction is ongoing for the item',
    });
    const batch = new BatchWriteItemCommand({
      RequestItems: {
        [TableName]: [
          { PutRequest: { Item: item('shared', '1') } },
          { PutRequest: { Item: item('free', '1') } },
        ],
      },
    });
    expect(await meanwhile(() => client.send(batch))).toMatchObject({
      UnprocessedItems: { [TableName]: [{ PutRequest: { Item: { pk: { S: 'shared' } } } }] },
    });
  });
});

function isUnprocessed(result: unknown): boolean {
  const { UnprocessedItems } = (result ?? {}) as { UnprocessedItems?: object };
  return Object.keys(UnprocessedItems ?? {}).length > 0;
}

describe('more than 1,000 write units a second on one partition key', () => {
  it('are throttled, other keys are not', async () => {
    await start({ faults: { throttling: true } });
    // The clock stands still, else the partition could recover between the calls on a slow machine.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    // 300 units each. Four calls fit, because the last one may overdraw the 1,000 units.
    const writes = Array.from({ length: 12 }, (_, index) =>
      client.send(new PutItemCommand({ TableName, Item: item('hot', String(index), 300 * 1024 - 100) })),
    );
    const errors = errorsOf(await Promise.allSettled(writes));
    expect(errors).toHaveLength(8);
    for (const error of errors) expect(error.name).toBe('ThrottlingException');
    await client.send(new PutItemCommand({ TableName, Item: item('cold', '1', 1000) }));
    await expect(transact(put('cold', '2'), put('hot', 'x'))).rejects.toMatchObject({
      CancellationReasons: [{ Code: 'None' }, { Code: 'ThrottlingError' }],
    });
    const batch = new BatchWriteItemCommand({
      RequestItems: { [TableName]: ['hot', 'cold'].map((pk) => ({ PutRequest: { Item: item(pk, '3') } })) },
    });
    const { UnprocessedItems } = await client.send(batch);
    expect(UnprocessedItems?.[TableName]).toEqual([{ PutRequest: { Item: item('hot', '3') } }]);
    const Key = { pk: { S: 'cold' }, sk: { S: '3' } };
    expect((await client.send(new GetItemCommand({ TableName, Key }))).Item).toEqual(item('cold', '3'));
  });
});

describe('more than 3,000 read units a second on one partition key', () => {
  it('are throttled, other keys are not', async () => {
    await start({ faults: { throttling: true } });
    const text = 'x'.repeat(390 * 1024);
    const puts = ['hot', 'cold'].map((pk) => ({ pk: { S: pk }, sk: { S: '1' }, text: { S: text } }));
    for (const Item of puts) await client.send(new PutItemCommand({ TableName, Item }));
    // The clock stands still, else the partition could recover between the calls on a slow machine.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const keyOf = (pk: string) => ({ pk: { S: pk }, sk: { S: '1' } });
    const read = (pk: string) =>
      client.send(new GetItemCommand({ TableName, Key: keyOf(pk), ConsistentRead: true }));
    // 98 units each. The last read that passes may overdraw the 3,000 units.
    for (let count = 0; count < 31; count += 1) await read('hot');
    await expect(read('hot')).rejects.toMatchObject({ name: 'ThrottlingException' });
    await expect(
      client.send(
        new QueryCommand({
          TableName,
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': { S: 'hot' } },
        }),
      ),
    ).rejects.toMatchObject({ name: 'ThrottlingException' });
    const { Responses, UnprocessedKeys } = await client.send(
      new BatchGetItemCommand({
        RequestItems: { [TableName]: { Keys: [keyOf('cold'), keyOf('hot')], ConsistentRead: true } },
      }),
    );
    expect(Responses?.[TableName]).toEqual([puts[1]]);
    expect(UnprocessedKeys).toEqual({ [TableName]: { Keys: [keyOf('hot')], ConsistentRead: true } });
  });
});

describe('with the latency of AWS', () => {
  it('each call takes at least as long', async () => {
    await start({ faults: { latency: { read: 40, write: 80, transaction: 120 } } });
    const timeOf = async (work: Promise<unknown>): Promise<number> => {
      const startedAt = performance.now();
      await work;
      return performance.now() - startedAt;
    };
    const Key = { pk: { S: 'a' }, sk: { S: '1' } };
    // A timer of Node may fire a millisecond early.
    expect(await timeOf(client.send(new GetItemCommand({ TableName, Key })))).toBeGreaterThanOrEqual(39);
    const writing = client.send(new PutItemCommand({ TableName, Item: item('a', '1') }));
    expect(await timeOf(writing)).toBeGreaterThanOrEqual(79);
    expect(await timeOf(transact(put('a', '2')))).toBeGreaterThanOrEqual(119);
  });

  it('a transaction locks its items until it has ended', async () => {
    const latency = { read: 0, write: 0, transaction: 60_000 };
    await start({ faults: { transactionConflicts: true, latency } });
    let hasEnded = false;
    // It ends with the run.
    transact(put('locked', '1'))
      .catch(() => undefined)
      .finally(() => {
        hasEnded = true;
      });
    const write = (pk: string) => client.send(new PutItemCommand({ TableName, Item: item(pk, '1') }));
    const outcome = () =>
      write('locked').then(
        () => 'written',
        ({ name }: Error) => name,
      );
    await expect.poll(outcome).toBe('TransactionConflictException');
    for (let count = 0; count < 20; count += 1) await write('free');
    expect(await outcome()).toBe('TransactionConflictException');
    expect(hasEnded).toBe(false);
  });
});

describe('the record of calls', () => {
  it('has what each call consumed and which function made it', async () => {
    await start({ recordCalls: true });
    await run.fetch('items/one', { method: 'PUT', body: 'x'.repeat(2500) });
    await transact(put('a', '1'), put('b', '1'));
    const calls = run.dynamoCalls();
    const functionName = expect.stringMatching(/^Fixture-Awsitems/);
    expect(calls).toMatchObject([
      // 2.5 KB are written to the table and to its index.
      { target: 'PutItem', tableName: TableName, functionName, consumed: { readUnits: 0, writeUnits: 6 } },
      { target: 'GetItem', tableName: TableName, functionName, consumed: { readUnits: 1, writeUnits: 0 } },
      { target: 'Query', tableName: TableName, functionName, consumed: { readUnits: 0.5, writeUnits: 0 } },
      { target: 'TransactWriteItems', functionName: undefined, consumed: { readUnits: 0, writeUnits: 4 } },
    ]);
    expect(calls.every(({ at, status }) => at > 0 && status === 200)).toBe(true);
  });

  it('has what a failed condition and a cancelled transaction consume in AWS', async () => {
    await start({ recordCalls: true });
    const Item = item('a', '1', 1500);
    const failing = { TableName, Item, ConditionExpression: 'attribute_exists(pk)' };
    await expect(client.send(new PutItemCommand(failing))).rejects.toThrow('condition');
    await expect(
      client.send(new TransactWriteItemsCommand({ TransactItems: [{ Put: failing }, put('b', '1')] })),
    ).rejects.toMatchObject({ name: 'TransactionCanceledException' });
    await expect(client.send(new PutItemCommand({ TableName, Item: {} }))).rejects.toThrow();
    expect(run.dynamoCalls().map(({ consumed }) => consumed.writeUnits)).toEqual([2, 6, 0]);
  });

  it('shows consumption to those who ask, and to no one else', async () => {
    await start({ recordCalls: true });
    const received = await client.send(
      new PutItemCommand({ TableName, Item: item('a', '1'), ReturnConsumedCapacity: 'TOTAL' }),
    );
    expect(received.ConsumedCapacity).toMatchObject({ CapacityUnits: 1 });
    const response = await run.fetch('items/a');
    expect(await response.json()).toMatchObject({ hasConsumed: false });
  });
});

describe('a test that refuses calls', () => {
  it('has the SDK try again', async () => {
    const seen: string[] = [];
    await start({
      recordCalls: true,
      faults: { reject: ({ target, functionName }) => functionName !== undefined && seen.push(target) === 1 },
    });
    expect((await run.fetch('items/one', { method: 'PUT', body: 'text' })).status).toBe(200);
    expect(run.dynamoCalls().map(({ target, status }) => [target, status])).toEqual([
      ['PutItem', 500],
      ['PutItem', 200],
      ['GetItem', 200],
      ['Query', 200],
    ]);
  });
});
