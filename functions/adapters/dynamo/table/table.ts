import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  type BatchWriteItemCommandInput,
  type BatchWriteItemCommandOutput,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
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
import { NotStorable } from '#domain/platform/failures.ts';
import { groupsOf, inSnakeCase, renamed } from '#domain/platform/services.ts';
import { backOff, type Pause } from './back-off.ts';
import type { Key } from './keys.ts';

export type Item = Record<string, unknown>;
type WithoutTable<Input> = Omit<
  Input,
  // All but the table's name are legacy parameters, which expressions have replaced.
  'TableName' | 'AttributeUpdates' | 'Expected' | 'KeyConditions' | 'QueryFilter'
>;

type WriteInput = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

export type Write = { [Kind in keyof WriteInput]?: Omit<NonNullable<WriteInput[Kind]>, 'TableName'> };

/**
 * `item` has what `ReturnValues` asks for, empty for a put; or, if the condition failed, what
 * `ReturnValuesOnConditionCheckFailure` asks for.
 */
export type Outcome = { isDone: true; item: Item } | { isDone: false; item: Item | undefined };

/** Reads are strongly consistent, so that clients read what they have written. */
export interface Table {
  /**
   * Gets that start at the same time are combined into batch reads. A key that a batch did not process is read alone,
   * so that the others do not wait for it.
   */
  get(key: Key): Promise<Item | undefined>;
  /**
   * Gets an item that must exist. A read during a transaction may miss its writes, so a missing item is read again for
   * a moment.
   * @throws Error if the item stays missing
   */
  getNamed(key: Key): Promise<Item>;
  put(input: WithoutTable<PutCommandInput>): Promise<void>;
  /** Not atomic, and in no order. Replaces items that have the same keys. */
  putAll(items: readonly Item[]): Promise<void>;
  deleteAll(keys: readonly Key[]): Promise<void>;
  update(input: WithoutTable<UpdateCommandInput>, signal?: AbortSignal): Promise<Item>;
  putIf(input: WithoutTable<PutCommandInput>): Promise<Outcome>;
  updateIf(input: WithoutTable<UpdateCommandInput>, signal?: AbortSignal): Promise<Outcome>;
  queryPages(input: Query): AsyncGenerator<Item[]>;
  queryAll(input: Query): Promise<Item[]>;
  pauseUpTo(milliseconds: number): Promise<void>;
  /**
   * Does nothing without writes. Does not retry after a conflict: see `transactWithRetry`.
   * @throws TransactionCanceledException, such as for a condition that failed, or a conflict
   */
  transact(writes: readonly Write[]): Promise<void>;
}

type Query = WithoutTable<QueryCommandInput>;

export const allOf = ({ pk }: Pick<Key, 'pk'>) => ({
  KeyConditionExpression: 'pk = :pk',
  ExpressionAttributeValues: { ':pk': pk },
});

/** @param condition on `sk`, such as `sk > :sk`; `:sk` is the key's `sk` */
export const where = (condition: string, { pk, sk }: Key) => ({
  KeyConditionExpression: `pk = :pk AND ${condition}`,
  ExpressionAttributeValues: { ':pk': pk, ':sk': sk },
});

export const startingWith = (key: Key) => where('begins_with(sk, :sk)', key);

export const between = ({ pk, sk: first }: Key, { sk: last }: Pick<Key, 'sk'>) => ({
  KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
  ExpressionAttributeValues: { ':pk': pk, ':first': first, ':last': last },
});

/** @returns undefined if there is no such item */
export async function getAs<Read>(
  table: Pick<Table, 'get'>,
  key: Key,
  read: (item: Item) => Read | Promise<Read>,
): Promise<Read | undefined> {
  const item = await table.get(key);
  return item && read(item);
}

export const keyOf = ({ pk, sk }: Item): Key => ({ pk: pk as string, sk: sk as string });

/**
 * The expressions of an update that sets attributes: null removes an attribute, undefined leaves it.
 * @param values further attribute values, for a condition that the caller adds
 */
export function changing(attributes: Item, values: Item = {}) {
  const changed = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const set = changed.filter(([, value]) => value !== null);
  const removed = changed.filter(([, value]) => value === null);
  const clauses = [
    { verb: 'SET', parts: set.map(([name]) => `#${name} = :${name}`) },
    { verb: 'REMOVE', parts: removed.map(([name]) => `#${name}`) },
  ];
  const all = { ...Object.fromEntries(set.map(([name, value]) => [`:${name}`, value])), ...values };
  return {
    UpdateExpression: clauses
      .filter(({ parts }) => parts.length > 0)
      .map(({ verb, parts }) => `${verb} ${parts.join(', ')}`)
      .join(' '),
    ExpressionAttributeNames: Object.fromEntries(changed.map(([name]) => [`#${name}`, name])),
    ...(Object.keys(all).length > 0 && { ExpressionAttributeValues: all }),
  };
}

/** The condition that the attributes are as they were read; undefined means that there was none. */
export function ifStill(attributes: Item) {
  const all = Object.entries(attributes);
  const present = all.filter(([, value]) => value !== undefined);
  return {
    ConditionExpression: all
      .map(([name, value]) =>
        value === undefined ? `attribute_not_exists(#${name})` : `#${name} = :old_${name}`,
      )
      .join(' AND '),
    ExpressionAttributeNames: Object.fromEntries(all.map(([name]) => [`#${name}`, name])),
    ...(present.length > 0 && {
      ExpressionAttributeValues: Object.fromEntries(present.map(([name, value]) => [`:old_${name}`, value])),
    }),
  };
}

export function changingIf(attributes: Item, before: Item) {
  const {
    ExpressionAttributeValues: values,
    ExpressionAttributeNames: names,
    ...condition
  } = ifStill(before);
  const change = changing(attributes, values);
  const ExpressionAttributeNames = { ...names, ...change.ExpressionAttributeNames };
  return { ...change, ...condition, ExpressionAttributeNames };
}

/** @param names the attribute of each field, and a usual value, with which the field gets no attribute */
export function attributesNamed<Fields extends object>(
  names: {
    [Field in keyof Fields]-?: readonly [attribute: string, usual?: Fields[Field]];
  },
) {
  const all = Object.entries(names) as [keyof Fields, readonly [string, unknown?]][];
  return {
    itemOf: (fields: Fields): Item =>
      Object.fromEntries(
        all
          .filter(([field, [, usual]]) => !isDeepStrictEqual(fields[field], usual))
          .map(([field, [name]]) => [name, fields[field]]),
      ),
    fieldsOf: (item: Item) =>
      Object.fromEntries(
        all
          .map(([field, [name, usual]]) => [field, item[name] ?? usual] as const)
          .filter(([, value]) => value !== undefined),
      ) as Fields,
  };
}

export const attributesOf: (fields: object) => Item = inSnakeCase;

export const withoutNulls = (item: object): Item =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));

export const fieldsOf = <Kind>({ pk, sk, ...attributes }: Item): Kind =>
  renamed(attributes, /_[a-z]/g, ([, letter = '']) => letter.toUpperCase()) as Kind;

/** DynamoDB's limit for one batch write. */
const writesPerRequest = 25;

/** DynamoDB's limit for one batch read. */
const keysPerRequest = 100;

/** The pauses between the attempts take about 2.5 s on average. */
const maxConflictAttempts = 20;

/** The pauses between the attempts take about 6 s on average. */
const maxUnprocessedAttempts = 40;

/** The pauses between the attempts take about 0.6 s on average. */
const maxGetAttempts = 8;

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
  const put: Table['put'] = async (input) => {
    await retryOnConflict(pause, () =>
      client.send(new PutItemCommand({ TableName: name, ...toWire(input) })),
    );
  };
  const update: Table['update'] = async (input, signal) => {
    const command = new UpdateItemCommand({ TableName: name, ...toWire(input) });
    const { Attributes } = await retryOnConflict(pause, () =>
      client.send(command, signal && { abortSignal: signal }),
    );
    return Attributes === undefined ? {} : unmarshall(Attributes);
  };
  const writeAll = async (writes: readonly WriteRequest[]): Promise<void> => {
    const groups = groupsOf(writes, writesPerRequest);
    await Promise.all(groups.map((group) => batchWrite(pause, client, name, group)));
  };
  return {
    pauseUpTo,
    get,
    put,
    update,
    putIf: (input) => outcomeOf(put(input).then(() => ({}))),
    updateIf: (...input) => outcomeOf(update(...input)),
    queryPages: (input) => queryPages(client, name, input),
    queryAll: async (input) => (await Array.fromAsync(queryPages(client, name, input))).flat(),
    async getNamed(key) {
      for (let attempt = 1; attempt <= maxGetAttempts; attempt += 1) {
        const item = await get(key);
        if (item !== undefined) return item;
        await backOff(pause, attempt);
      }
      throw new Error(`The item ${key.pk} ${key.sk} is named by another but missing`);
    },
    putAll: (items) => writeAll(items.map((item) => ({ PutRequest: { Item: marshalled(item) } }))),
    deleteAll: (keys) => writeAll(keys.map((key) => ({ DeleteRequest: { Key: marshalled(key) } }))),
    async transact(writes) {
      if (writes.length === 0) return;
      await client.send(
        new TransactWriteItemsCommand({
          TransactItems: writes.map((write) => transactItem(name, write)),
          // Makes a retry by the SDK idempotent:
          ClientRequestToken: randomUUID(),
        }),
      );
    },
  };
}

async function* queryPages(client: DynamoDBClient, name: string, input: Query): AsyncGenerator<Item[]> {
  const wire = toWire(input);
  let start: WireItem | undefined;
  do {
    const page = await client.send(
      new QueryCommand({ TableName: name, ConsistentRead: true, ...wire, ExclusiveStartKey: start }),
    );
    yield (page.Items ?? []).map((item) => unmarshall(item));
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
}

async function outcomeOf(write: Promise<Item>): Promise<Outcome> {
  try {
    return { isDone: true, item: await write };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    return { isDone: false, item: error.Item && unmarshall(error.Item) };
  }
}

/** The SDK does not retry a write of an item that a running transaction contains. */
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

const transactItem = (TableName: string, { ConditionCheck, Delete, Put, Update }: Write) => ({
  ...(ConditionCheck && { ConditionCheck: { TableName, ...toWire(ConditionCheck) } }),
  ...(Delete && { Delete: { TableName, ...toWire(Delete) } }),
  ...(Put && { Put: { TableName, ...toWire(Put) } }),
  ...(Update && { Update: { TableName, ...toWire(Update) } }),
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
