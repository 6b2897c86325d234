import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  type BatchGetCommandInput,
  type BatchGetCommandOutput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  type BatchWriteCommandOutput,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import DataLoader from 'dataloader';
import { backOff } from './back-off.ts';
import type { Key } from './keys.ts';

export type Item = Record<string, unknown>;
export type Write = NonNullable<TransactWriteCommandInput['TransactItems']>[number];
type WithoutTable<Input> = Omit<Input, 'TableName'>;

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
  update(input: WithoutTable<UpdateCommandInput>): Promise<Item>;
  queryPages(input: WithoutTable<QueryCommandInput>): AsyncGenerator<Item[]>;
  transact(writes: (tableName: string) => Write[]): Promise<void>;
}

/** DynamoDB's limit of one batch write. */
const writesPerRequest = 25;

/** A batch read answers with at most 16 MB and 100 keys. */
const keysPerRequest = 100;

/** With the waits between, about a second: a transaction is through in milliseconds. */
const attemptsToFind = 8;

export function dynamoTable(client: DynamoDBDocumentClient, name: string): Table {
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
      await client.send(new PutCommand({ TableName: name, ...input }));
    },
    async putAll(items) {
      const requests: Item[][] = [];
      for (let first = 0; first < items.length; first += writesPerRequest)
        requests.push(items.slice(first, first + writesPerRequest));
      await Promise.all(requests.map((request) => putTogether(client, name, request)));
    },
    async update(input) {
      return (await client.send(new UpdateCommand({ TableName: name, ...input }))).Attributes ?? {};
    },
    async *queryPages(input) {
      let start: Record<string, unknown> | undefined;
      do {
        const page = await client.send(
          new QueryCommand({ TableName: name, ConsistentRead: true, ...input, ExclusiveStartKey: start }),
        );
        yield page.Items ?? [];
        start = page.LastEvaluatedKey;
      } while (start !== undefined);
    },
    async transact(writes) {
      await client.send(new TransactWriteCommand({ TransactItems: writes(name) }));
    },
  };
}

async function putTogether(client: DynamoDBDocumentClient, name: string, items: Item[]): Promise<void> {
  let wanted: BatchWriteCommandInput['RequestItems'] = {
    [name]: items.map((Item) => ({ PutRequest: { Item } })),
  };
  for (let attempt = 0; wanted !== undefined && Object.keys(wanted).length > 0; attempt += 1) {
    if (attempt > 0) await backOff(attempt);
    const answer: BatchWriteCommandOutput = await client.send(
      new BatchWriteCommand({ RequestItems: wanted }),
    );
    wanted = answer.UnprocessedItems;
  }
}

const textOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`;

async function getTogether(
  client: DynamoDBDocumentClient,
  name: string,
  keys: readonly Key[],
): Promise<(Item | undefined)[]> {
  const [only] = keys;
  if (only !== undefined && keys.length === 1)
    return [(await client.send(new GetCommand({ TableName: name, Key: only, ConsistentRead: true }))).Item];

  const distinct = new Map(keys.map((key) => [textOf(key), key]));
  const found = new Map<string, Item>();
  let wanted: BatchGetCommandInput['RequestItems'] = {
    [name]: { Keys: [...distinct.values()], ConsistentRead: true },
  };
  for (let attempt = 0; wanted !== undefined && Object.keys(wanted).length > 0; attempt += 1) {
    if (attempt > 0) await backOff(attempt);
    const answer: BatchGetCommandOutput = await client.send(new BatchGetCommand({ RequestItems: wanted }));
    for (const item of answer.Responses?.[name] ?? []) found.set(textOf(item as unknown as Key), item);
    wanted = answer.UnprocessedKeys;
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
