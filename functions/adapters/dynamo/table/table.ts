import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  type BatchWriteItemCommandInput,
  type BatchWriteItemCommandOutput,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactionCanceledException,
  TransactionConflictException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import type {
  PutCommandInput,
  QueryCommandInput,
  TransactWriteCommandInput,
  UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import DataLoader from 'dataloader';
import { NotStorable } from '#domain/platform/not-storable.ts';
import { backOff, type Pause } from './back-off.ts';
import type { Key } from './keys.ts';

export type Item = Record<string, unknown>;
export type Write = NonNullable<TransactWriteCommandInput['TransactItems']>[number];
type WithoutTable<Input> = Omit<
  Input,
  // Legacy parameters: expressions have replaced them.
  'TableName' | 'AttributeUpdates' | 'Expected' | 'KeyConditions' | 'QueryFilter'
>;

/** The operations on the data table. Every read is strongly consistent, so that clients read what they have written. */
export interface Table {
  /**
   * Concurrent gets are combined into batch reads of up to 100 keys. A key that a batch did not process, because its
   * partition is throttled, is read alone: the others do not wait for it, and the SDK bounds its attempts.
   */
  get(key: Key): Promise<Item | undefined>;
  /**
   * Gets an item that must exist, because an item that was read before names it. Reads are not isolated from a running
   * transaction, so the item may become visible slightly later than its name: this retries for about 0.6 s.
   * @throws Error if the item is still missing then
   */
  getNamed(key: Key): Promise<Item>;
  put(input: WithoutTable<PutCommandInput>): Promise<void>;
  /** Puts new items in any order, in batch writes of 25. */
  putAll(items: readonly Item[]): Promise<void>;
  /** Deletes items in any order, in batch writes of 25. */
  deleteAll(keys: readonly Key[]): Promise<void>;
  /** @returns the attributes that `ReturnValues` requests */
  update(input: WithoutTable<UpdateCommandInput>, signal?: AbortSignal): Promise<Item>;
  queryPages(input: WithoutTable<QueryCommandInput>): AsyncGenerator<Item[]>;
  /** Waits for a random part of the time. */
  pauseUpTo(milliseconds: number): Promise<void>;
  /** No writes are no call. */
  transact(writes: (tableName: string) => Write[]): Promise<void>;
}

/** DynamoDB's limit for one batch write. */
const writesPerRequest = 25;

/** DynamoDB's limit for one batch read: 100 keys (and 16 MB). */
const keysPerRequest = 100;

/** With the delays, about 2.5 s: many transactions on one item may follow each other closely. */
const maxConflictAttempts = 20;

/** With the delays, about 5.5 s: a throttled partition is split after minutes, so a longer wait seldom helps. */
const maxUnprocessedAttempts = 40;

/** With the delays, about 0.6 s: a transaction completes within milliseconds. */
const maxGetAttempts = 8;

/**
 * @param client may use `ItemProtocol`, which makes each call cheaper
 * @param pauseUpTo by default in real time
 */
export function dynamoTable(
  client: DynamoDBClient,
  name: string,
  pauseUpTo: Table['pauseUpTo'] = (milliseconds) => sleep(Math.random() * milliseconds),
): Table {
  const loader = new DataLoader<Key, Read, string>((keys) => batchGet(client, name, keys), {
    cache: false,
    maxBatchSize: keysPerRequest,
  });
  const get: Table['get'] = async (key) => {
    const read = await loader.load(key);
    return read === unprocessed ? getOne(client, name, key) : read;
  };
  const pause: Pause = { pauseUpTo };
  return {
    pauseUpTo,
    get,
    async getNamed(key) {
      for (let attempt = 1; attempt <= maxGetAttempts; attempt += 1) {
        const item = await get(key);
        if (item !== undefined) return item;
        await backOff(pause, attempt);
      }
      throw new Error(`The item ${key.pk} ${key.sk} is named by another but missing`);
    },
    async put(input) {
      await retryOnConflict(pause, () =>
        client.send(new PutItemCommand({ TableName: name, ...toWire(input) })),
      );
    },
    putAll: (items) =>
      batchWrites(
        pause,
        client,
        name,
        items.map((item) => ({ PutRequest: { Item: marshalled(item) } })),
      ),
    deleteAll: (keys) =>
      batchWrites(
        pause,
        client,
        name,
        keys.map((key) => ({ DeleteRequest: { Key: marshalled(key) } })),
      ),
    async update(input, signal) {
      const command = new UpdateItemCommand({ TableName: name, ...toWire(input) });
      const response = await retryOnConflict(pause, () =>
        client.send(command, signal && { abortSignal: signal }),
      );
      return response.Attributes === undefined ? {} : unmarshall(response.Attributes);
    },
    async *queryPages(input) {
      const wire = toWire(input);
      let start: WireItem | undefined;
      do {
        const page = await client.send(
          new QueryCommand({ TableName: name, ConsistentRead: true, ...wire, ExclusiveStartKey: start }),
        );
        yield (page.Items ?? []).map((item) => unmarshall(item));
        start = page.LastEvaluatedKey;
      } while (start !== undefined);
    },
    async transact(writes) {
      const items = writes(name);
      if (items.length === 0) return;
      await client.send(
        new TransactWriteItemsCommand({
          TransactItems: items.map(transactItem),
          // Makes a retry by the SDK idempotent: DynamoDB does not execute the same token twice.
          ClientRequestToken: randomUUID(),
        }),
      );
    },
  };
}

/**
 * DynamoDB rejects a write of an item that a running transaction contains. The SDK does not retry that, so this does.
 */
async function retryOnConflict<Output>(pause: Pause, write: () => Promise<Output>): Promise<Output> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof TransactionConflictException) || attempt === maxConflictAttempts) throw error;
    }
    await backOff(pause, attempt);
  }
}

async function batchWrites(
  pause: Pause,
  client: DynamoDBClient,
  name: string,
  writes: readonly WriteRequest[],
): Promise<void> {
  const requests: WriteRequest[][] = [];
  for (let first = 0; first < writes.length; first += writesPerRequest)
    requests.push(writes.slice(first, first + writesPerRequest));
  await Promise.all(requests.map((request) => batchWrite(pause, client, name, request)));
}

async function batchWrite(
  pause: Pause,
  client: DynamoDBClient,
  name: string,
  writes: WriteRequest[],
): Promise<void> {
  let pending: BatchWriteItemCommandInput['RequestItems'] = { [name]: writes };
  for (let attempt = 1; attempt <= maxUnprocessedAttempts; attempt += 1) {
    const response: BatchWriteItemCommandOutput = await client.send(
      new BatchWriteItemCommand({ RequestItems: pending }),
    );
    pending = response.UnprocessedItems;
    if (pending === undefined || Object.keys(pending).length === 0) return;
    await backOff(pause, attempt);
  }
  throw new Error(`DynamoDB did not process all writes in ${maxUnprocessedAttempts} attempts`);
}

async function getOne(client: DynamoDBClient, name: string, key: Key): Promise<Item | undefined> {
  const response = await client.send(
    new GetItemCommand({ TableName: name, Key: marshalled(key), ConsistentRead: true }),
  );
  return response.Item && unmarshall(response.Item);
}

type WireItem = Record<string, AttributeValue>;

function marshalled(item: Item | Key): WireItem {
  try {
    return marshall(item, { removeUndefinedValues: true });
  } catch (error) {
    throw new NotStorable('An item has a value that DynamoDB cannot store', { cause: error });
  }
}

/** The members of a command's input that contain attribute values. */
const itemMembers = ['Key', 'Item', 'ExpressionAttributeValues', 'ExclusiveStartKey'] as const;

type Wire<Input> = {
  [Name in keyof Input]: Name extends (typeof itemMembers)[number] ? WireItem : Input[Name];
};

function toWire<Input extends object>(input: Input): Wire<Input> {
  const members: Partial<Record<string, unknown>> = input;
  const items = itemMembers.filter((member) => members[member] !== undefined);
  return {
    ...input,
    ...Object.fromEntries(items.map((member) => [member, marshalled(members[member] as Item)])),
  } as Wire<Input>;
}

const transactItem = ({ ConditionCheck, Delete, Put, Update }: Write) => ({
  ...(ConditionCheck && { ConditionCheck: toWire(ConditionCheck) }),
  ...(Delete && { Delete: toWire(Delete) }),
  ...(Put && { Put: toWire(Put) }),
  ...(Update && { Update: toWire(Update) }),
});

const textOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`;

const unprocessed = Symbol('unprocessed');
type Read = Item | undefined | typeof unprocessed;

async function batchGet(client: DynamoDBClient, name: string, keys: readonly Key[]): Promise<Read[]> {
  const [only] = keys;
  if (only !== undefined && keys.length === 1) return [await getOne(client, name, only)];

  const distinct = new Map(keys.map((key) => [textOf(key), key]));
  const Keys = [...distinct.values()].map((key) => marshalled(key));
  const { Responses, UnprocessedKeys } = await client.send(
    new BatchGetItemCommand({ RequestItems: { [name]: { Keys, ConsistentRead: true } } }),
  );
  const found = new Map<string, Read>();
  for (const wire of Responses?.[name] ?? []) {
    const item = unmarshall(wire);
    found.set(textOf(item as unknown as Key), item);
  }
  for (const wire of UnprocessedKeys?.[name]?.Keys ?? [])
    found.set(textOf(unmarshall(wire) as unknown as Key), unprocessed);
  return keys.map((key) => found.get(textOf(key)));
}

/** For each write of a cancelled transaction, whether its own condition failed. Empty for any other error. */
export const failedConditions = (error: unknown): boolean[] =>
  error instanceof TransactionCanceledException
    ? (error.CancellationReasons ?? []).map(({ Code }) => Code === 'ConditionalCheckFailed')
    : [];

/** Whether a transaction was cancelled because of concurrent writes, a condition or throttling: a retry may succeed. */
export const isConflict = (error: unknown): boolean =>
  error instanceof TransactionCanceledException &&
  (error.CancellationReasons ?? []).some((reason) =>
    [
      'ConditionalCheckFailed',
      'TransactionConflict',
      'ThrottlingError',
      'ProvisionedThroughputExceeded',
    ].includes(reason.Code ?? ''),
  );
