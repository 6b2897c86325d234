import { randomUUID } from 'node:crypto';
import {
  type AttributeValue,
  BatchGetItemCommand,
  type BatchGetItemCommandInput,
  type BatchGetItemCommandOutput,
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
import { backOff } from './back-off.ts';
import type { Key } from './keys.ts';

export type Item = Record<string, unknown>;
export type Write = NonNullable<TransactWriteCommandInput['TransactItems']>[number];
type WithoutTable<Input> = Omit<
  Input,
  // What expressions have replaced.
  'TableName' | 'AttributeUpdates' | 'Expected' | 'KeyConditions' | 'QueryFilter'
>;

/** The data table's operations. Every read is strongly consistent: clients read what they have just written. */
export interface Table {
  /** Gets asked for in the same moment travel together, in requests of up to 100 keys. */
  get(key: Key): Promise<Item | undefined>;
  /**
   * An item that another one, read before, names. Reads see the items of one transaction one by one, so it may come a
   * moment later than its name.
   */
  getNamed(key: Key): Promise<Item>;
  put(input: WithoutTable<PutCommandInput>): Promise<void>;
  /** Puts new items in no order, in requests of 25. */
  putAll(items: readonly Item[]): Promise<void>;
  /** The item's attributes as `ReturnValues` asks for them. */
  update(input: WithoutTable<UpdateCommandInput>, signal?: AbortSignal): Promise<Item>;
  queryPages(input: WithoutTable<QueryCommandInput>): AsyncGenerator<Item[]>;
  transact(writes: (tableName: string) => Write[]): Promise<void>;
}

/** DynamoDB's limit of one batch write. */
const writesPerRequest = 25;

/** A batch read answers with at most 16 MB and 100 keys. */
const keysPerRequest = 100;

/** With the waits between, three seconds at the least: transactions on one item may follow each other closely. */
const conflictAttempts = 20;

/** With the waits between, about a second: a transaction is through in milliseconds. */
const attemptsToFind = 8;

/** @param client may have `ItemProtocol`, which makes each call shorter. */
export function dynamoTable(client: DynamoDBClient, name: string): Table {
  const loader = new DataLoader<Key, Item | undefined, string>((keys) => getTogether(client, name, keys), {
    cache: false,
    maxBatchSize: keysPerRequest,
  });
  return {
    get: (key) => loader.load(key),
    async getNamed(key) {
      for (let attempt = 1; attempt <= attemptsToFind; attempt += 1) {
        const item = await loader.load(key);
        if (item !== undefined) return item;
        await backOff(attempt);
      }
      throw new Error(`The item ${key.pk} ${key.sk} is named by another but missing`);
    },
    async put(input) {
      await retryingConflicts(() => client.send(new PutItemCommand({ TableName: name, ...toWire(input) })));
    },
    async putAll(items) {
      const requests: Item[][] = [];
      for (let first = 0; first < items.length; first += writesPerRequest)
        requests.push(items.slice(first, first + writesPerRequest));
      await Promise.all(requests.map((request) => putTogether(client, name, request)));
    },
    async update(input, signal) {
      const command = new UpdateItemCommand({ TableName: name, ...toWire(input) });
      const response = await retryingConflicts(() => client.send(command, signal && { abortSignal: signal }));
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
      await client.send(
        new TransactWriteItemsCommand({
          TransactItems: writes(name).map(transactItem),
          // By it DynamoDB knows a transaction again that the SDK sends once more, since its answer got lost.
          ClientRequestToken: randomUUID(),
        }),
      );
    },
  };
}

/** A write of an item that a transaction is at work on is turned away, which the SDK does not try again. */
async function retryingConflicts<Output>(write: () => Promise<Output>): Promise<Output> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof TransactionConflictException) || attempt === conflictAttempts) throw error;
    }
    await backOff(attempt);
  }
}

async function putTogether(client: DynamoDBClient, name: string, items: Item[]): Promise<void> {
  let wanted: BatchWriteItemCommandInput['RequestItems'] = {
    [name]: items.map((item) => ({ PutRequest: { Item: marshalled(item) } })),
  };
  for (let attempt = 0; wanted !== undefined && Object.keys(wanted).length > 0; attempt += 1) {
    if (attempt > 0) await backOff(attempt);
    const response: BatchWriteItemCommandOutput = await client.send(
      new BatchWriteItemCommand({ RequestItems: wanted }),
    );
    wanted = response.UnprocessedItems;
  }
}

async function getAlone(client: DynamoDBClient, name: string, key: Key): Promise<Item | undefined> {
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
    throw new NotStorable('An item has a value that the table cannot have', { cause: error });
  }
}

/** The members of an input that hold attributes. */
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

async function getTogether(
  client: DynamoDBClient,
  name: string,
  keys: readonly Key[],
): Promise<(Item | undefined)[]> {
  const [only] = keys;
  if (only !== undefined && keys.length === 1) return [await getAlone(client, name, only)];

  const distinct = new Map(keys.map((key) => [textOf(key), key]));
  const found = new Map<string, Item>();
  let wanted: BatchGetItemCommandInput['RequestItems'] = {
    [name]: { Keys: [...distinct.values()].map((key) => marshalled(key)), ConsistentRead: true },
  };
  for (let attempt = 0; wanted !== undefined && Object.keys(wanted).length > 0; attempt += 1) {
    if (attempt > 0) await backOff(attempt);
    const response: BatchGetItemCommandOutput = await client.send(
      new BatchGetItemCommand({ RequestItems: wanted }),
    );
    for (const wire of response.Responses?.[name] ?? []) {
      const item = unmarshall(wire);
      found.set(textOf(item as unknown as Key), item);
    }
    wanted = response.UnprocessedKeys;
  }
  return keys.map((key) => found.get(textOf(key)));
}

/** For each write of a transaction, whether its own condition was what cancelled it. */
export const failedConditions = (error: unknown): boolean[] =>
  error instanceof TransactionCanceledException
    ? (error.CancellationReasons ?? []).map(({ Code }) => Code === 'ConditionalCheckFailed')
    : [];

/** Whether a transaction failed because others were writing the same items, so that trying again may succeed. */
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
