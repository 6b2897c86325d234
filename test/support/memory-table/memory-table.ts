import {
  type AttributeValue,
  type BatchGetItemCommandInput,
  type BatchWriteItemCommandInput,
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  type GetItemCommandInput,
  type PutItemCommandInput,
  type QueryCommandInput,
  type ScanCommandInput,
  TransactionCanceledException,
  type TransactWriteItem,
  type TransactWriteItemsCommandInput,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { compareTexts, InvalidExpression, type WireItem } from './attribute-values.ts';
import { conditionOf, type Placeholders, placeholdersIn, project, updateOf } from './expressions.ts';
import { Partition } from './partition.ts';

/** DynamoDB's limits: bytes of an item, bytes of a page, writes of a transaction, writes and keys of a batch. */
const maxItemBytes = 400 * 1024;
const maxPageBytes = 1024 * 1024;
const maxTransactionWrites = 100;
const maxBatchWrites = 25;
const maxBatchKeys = 100;

const $metadata = {};

/** The parts of an input by which a write decides and changes. */
interface Expressions {
  ConditionExpression?: string | undefined;
  UpdateExpression?: string | undefined;
  ProjectionExpression?: string | undefined;
  KeyConditionExpression?: string | undefined;
  FilterExpression?: string | undefined;
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues?: Record<string, AttributeValue> | undefined;
}

/** A command of the SDK, by the name of its class. */
export interface TableCommand {
  input: object;
  constructor: { name: string };
}

interface KeyOf {
  pk: string;
  sk: string;
}

/** A planned write: what it makes of the item, or why it must not happen. */
interface PlannedWrite extends KeyOf {
  before: WireItem | undefined;
  /** Undefined deletes the item; `before` leaves it. */
  after: WireItem | undefined;
  isRejected: boolean;
}

/**
 * One table of DynamoDB in memory. Each command happens at once and as a whole. It evaluates expressions, and knows what the
 * stores need of the rest: limits, pages, transactions with tokens. There are no indexes and no binary values.
 */
export class MemoryTable {
  readonly #partitions = new Map<string, Partition>();
  /** Tokens of transactions that are done, and the time of each. */
  readonly #tokens = new Map<string, number>();
  readonly #now: () => number;
  /** Called after each change of an item. */
  onWrite: (before: WireItem | undefined, after: WireItem | undefined) => void = () => undefined;

  /** @param now milliseconds, by which a token of a transaction is forgotten after ten minutes */
  constructor(now: () => number = () => 0) {
    this.#now = now;
  }

  /** @throws the exceptions of the SDK */
  execute({ input, constructor: { name } }: TableCommand): object {
    try {
      switch (name) {
        case 'GetItemCommand':
          return this.#get(input as GetItemCommandInput);
        case 'PutItemCommand':
          return this.#put(input as PutItemCommandInput);
        case 'UpdateItemCommand':
          return this.#update(input as UpdateItemCommandInput);
        case 'QueryCommand':
          return this.#query(input as QueryCommandInput);
        case 'ScanCommand':
          return this.#scan(input as ScanCommandInput);
        case 'BatchGetItemCommand':
          return this.#batchGet(input as BatchGetItemCommandInput);
        case 'BatchWriteItemCommand':
          return this.#batchWrite(input as BatchWriteItemCommandInput);
        case 'TransactWriteItemsCommand':
          return this.#transact(input as TransactWriteItemsCommandInput);
      }
    } catch (error) {
      throw error instanceof InvalidExpression ? invalid(error.message) : error;
    }
    throw new Error(`The table in memory does not know the command ${name}`);
  }

  /** Every item, sorted by key. */
  *items(): Generator<WireItem> {
    for (const pk of [...this.#partitions.keys()].sort(compareTexts)) {
      const { keys, items } = this.#partitions.get(pk) as Partition;
      for (const key of keys) yield items.get(key) as WireItem;
    }
  }

  /** Whether a partition has items. */
  hasPartition(pk: string): boolean {
    return (this.#partitions.get(pk)?.keys.length ?? 0) > 0;
  }

  find({ pk, sk }: KeyOf): WireItem | undefined {
    return this.#partitions.get(pk)?.items.get(sk);
  }

  #write({ pk, sk, after }: PlannedWrite): void {
    const partition = this.#partitions.get(pk) ?? new Partition();
    const replaced = partition.items.get(sk);
    if (after === replaced) return;
    this.#partitions.set(pk, partition);
    if (after === undefined) partition.delete(sk);
    else partition.put(sk, after);
    this.onWrite(replaced, after);
  }

  #get(input: GetItemCommandInput): object {
    const item = this.find(keyOf(input.Key));
    return item === undefined ? {} : { Item: project(item, input.ProjectionExpression, givenBy(input)) };
  }

  #put(input: PutItemCommandInput): object {
    const planned = this.#planPut(input);
    if (planned.isRejected) throw conditionFailed(planned, input.ReturnValuesOnConditionCheckFailure);
    this.#write(planned);
    return input.ReturnValues === 'ALL_OLD' && planned.before ? { Attributes: planned.before } : {};
  }

  #update(input: UpdateItemCommandInput): object {
    const planned = this.#planUpdate(input);
    if (planned.isRejected) throw conditionFailed(planned, input.ReturnValuesOnConditionCheckFailure);
    this.#write(planned);
    const { before, after = {} } = planned;
    if (input.ReturnValues === 'ALL_NEW') return { Attributes: after };
    if (input.ReturnValues === 'ALL_OLD') return before === undefined ? {} : { Attributes: before };
    if (input.ReturnValues !== 'UPDATED_NEW') return {};
    const changed = Object.entries(after).filter(([name, value]) => before?.[name] !== value);
    return { Attributes: Object.fromEntries(changed) };
  }

  #planPut(input: PutItemCommandInput | NonNullable<TransactWriteItem['Put']>): PlannedWrite {
    const key = keyOf(input.Item);
    checkSize(input.Item as WireItem);
    return { ...this.#checked(key, input), after: input.Item as WireItem };
  }

  #planUpdate(input: UpdateItemCommandInput | NonNullable<TransactWriteItem['Update']>): PlannedWrite {
    const key = keyOf(input.Key);
    const planned = this.#checked(key, input);
    if (planned.isRejected) return planned;
    const after = updateOf(input.UpdateExpression ?? '')(
      planned.before ?? (input.Key as WireItem),
      givenBy(input),
    );
    if (after.pk?.S !== key.pk || after.sk?.S !== key.sk) throw invalid('An update must not change the key');
    checkSize(after);
    return { ...planned, after };
  }

  #checked(key: KeyOf, input: Expressions): PlannedWrite {
    const before = this.find(key);
    const given = givenBy(input);
    const { ConditionExpression: condition } = input;
    const isRejected = condition !== undefined && !conditionOf(condition)(before ?? {}, given);
    return { ...key, before, after: before, isRejected };
  }

  #transact({ TransactItems = [], ClientRequestToken }: TransactWriteItemsCommandInput): object {
    const now = this.#now();
    const doneAt = ClientRequestToken === undefined ? undefined : this.#tokens.get(ClientRequestToken);
    if (doneAt !== undefined && now - doneAt <= 600_000) return {};
    if (TransactItems.length > maxTransactionWrites) throw invalid('A transaction has too many writes');
    const planned = TransactItems.map((item) => this.#planOne(item));
    if (new Set(planned.map(({ pk, sk }) => `${pk}\n${sk}`)).size < planned.length)
      throw invalid('Transaction request cannot include multiple operations on one item');
    if (planned.some(({ isRejected }) => isRejected))
      throw new TransactionCanceledException({
        message: 'Transaction cancelled',
        $metadata,
        CancellationReasons: planned.map(({ isRejected }) => ({
          Code: isRejected ? 'ConditionalCheckFailed' : 'None',
        })),
      });
    for (const write of planned) this.#write(write);
    if (ClientRequestToken !== undefined) this.#tokens.set(ClientRequestToken, now);
    return {};
  }

  #planOne({ ConditionCheck, Delete, Put, Update }: TransactWriteItem): PlannedWrite {
    if (Put !== undefined) return this.#planPut(Put);
    if (Update !== undefined) return this.#planUpdate(Update);
    if (Delete !== undefined) return { ...this.#checked(keyOf(Delete.Key), Delete), after: undefined };
    if (ConditionCheck !== undefined) return this.#checked(keyOf(ConditionCheck.Key), ConditionCheck);
    throw invalid('A write of a transaction has no operation');
  }

  #query(input: QueryCommandInput): object {
    const given = givenBy(input);
    const isKey = conditionOf(input.KeyConditionExpression ?? '');
    const partition = this.#partitions.get(partitionOf(input, given)) ?? new Partition();
    const { keys, items } = partition;
    const start = input.ExclusiveStartKey && keyOf(input.ExclusiveStartKey).sk;
    const isForward = input.ScanIndexForward !== false;
    const first = start === undefined ? (isForward ? 0 : keys.length - 1) : partition.after(start, isForward);
    const found = new Page(input, given);
    for (let at = first; at >= 0 && at < keys.length; at += isForward ? 1 : -1) {
      const item = items.get(keys[at] as string) as WireItem;
      if (isKey(item, given) && found.add(item)) break;
    }
    return found.output();
  }

  #scan(input: ScanCommandInput): object {
    const { Segment = 0, TotalSegments = 1 } = input;
    const start = input.ExclusiveStartKey && keyOf(input.ExclusiveStartKey);
    const found = new Page(input, givenBy(input));
    for (const item of this.items()) {
      const { pk, sk } = keyOf(item);
      if (segmentOf(pk, TotalSegments) !== Segment) continue;
      const order = start && (compareTexts(pk, start.pk) || compareTexts(sk, start.sk));
      if (order !== undefined && order <= 0) continue;
      if (found.add(item)) break;
    }
    return found.output();
  }

  #batchGet({ RequestItems = {} }: BatchGetItemCommandInput): object {
    const Responses = Object.fromEntries(
      Object.entries(RequestItems).map(([table, { Keys = [] }]) => {
        if (Keys.length > maxBatchKeys) throw invalid('A batch read has too many keys');
        return [table, Keys.map((key) => this.find(keyOf(key))).filter((item) => item !== undefined)];
      }),
    );
    return { Responses };
  }

  #batchWrite({ RequestItems = {} }: BatchWriteItemCommandInput): object {
    for (const writes of Object.values(RequestItems)) {
      if (writes.length > maxBatchWrites) throw invalid('A batch write has too many writes');
      const planned = writes.map(({ PutRequest, DeleteRequest }): PlannedWrite => {
        const after = PutRequest?.Item as WireItem | undefined;
        if (after !== undefined) checkSize(after);
        return { ...keyOf(after ?? DeleteRequest?.Key), before: undefined, after, isRejected: false };
      });
      if (new Set(planned.map(({ pk, sk }) => `${pk}\n${sk}`)).size < planned.length)
        throw invalid('A batch write has duplicates');
      for (const write of planned) this.#write(write);
    }
    return {};
  }
}

/** What one call of a query or a scan returns. */
class Page {
  readonly #items: WireItem[] = [];
  readonly #input: Expressions & { Limit?: number | undefined };
  readonly #given: Placeholders;
  #read = 0;
  #bytes = 0;
  #last: WireItem | undefined;

  constructor(input: Expressions & { Limit?: number | undefined }, given: Placeholders) {
    this.#input = input;
    this.#given = given;
  }

  /** @returns whether the page ends with the item */
  add(item: WireItem): boolean {
    const { FilterExpression: filter, ProjectionExpression: projection, Limit = Infinity } = this.#input;
    this.#read += 1;
    this.#bytes += bytesOf(item);
    if (filter === undefined || conditionOf(filter)(item, this.#given))
      this.#items.push(project(item, projection, this.#given));
    if (this.#read < Limit && this.#bytes < maxPageBytes) return false;
    this.#last = item;
    return true;
  }

  output(): object {
    const { pk, sk } = this.#last ?? {};
    return { Items: this.#items, ...(this.#last && { LastEvaluatedKey: { pk, sk } }) };
  }
}

/** The key of an item, or a key itself. */
function keyOf(item: Record<string, AttributeValue> | WireItem | undefined): KeyOf {
  const [pk, sk] = [item?.pk?.S, item?.sk?.S];
  if (!pk || !sk) throw invalid('A key must have the texts pk and sk');
  return { pk, sk };
}

/** Checks that the expressions use all placeholders, as DynamoDB does. */
function givenBy(input: Expressions): Placeholders {
  const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = input;
  const used = placeholdersIn(
    `${input.ConditionExpression ?? ''} ${input.UpdateExpression ?? ''} ${input.ProjectionExpression ?? ''} ${input.KeyConditionExpression ?? ''} ${input.FilterExpression ?? ''}`,
  );
  for (const name in names) if (!used.has(name)) throw invalid(`The name ${name} is unused in expressions`);
  for (const name in values) if (!used.has(name)) throw invalid(`The value ${name} is unused in expressions`);
  for (const name of used)
    if (names[name] === undefined && values[name] === undefined) throw invalid(`${name} is not defined`);
  return { names, values };
}

function partitionOf({ KeyConditionExpression = '' }: QueryCommandInput, { values }: Placeholders): string {
  const name = /\bpk = (:\w+)/.exec(KeyConditionExpression)?.[1] ?? '';
  return values[name]?.S ?? '';
}

/** Any function that spreads partitions over segments. */
function segmentOf(pk: string, segments: number): number {
  let sum = 0;
  for (let at = 0; at < pk.length; at += 1) sum = (sum * 31 + pk.charCodeAt(at)) >>> 0;
  return sum % segments;
}

function checkSize(item: WireItem): void {
  if (bytesOf(item) > maxItemBytes) throw invalid('Item size has exceeded the maximum allowed size');
}

function bytesOf(item: WireItem): number {
  let bytes = 0;
  for (const name in item) bytes += name.length + bytesOfValue(item[name] as AttributeValue);
  return bytes;
}

function bytesOfValue(value: AttributeValue): number {
  // Most texts are short: three bytes a character is enough to know that they fit.
  if (value.S !== undefined) return value.S.length < 1000 ? value.S.length : Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 1;
  if (value.M !== undefined) return 3 + bytesOf(value.M);
  if (value.L !== undefined) return value.L.reduce((sum, member) => sum + 1 + bytesOfValue(member), 3);
  if (value.SS !== undefined) return value.SS.reduce((sum, member) => sum + Buffer.byteLength(member), 3);
  return 1;
}

const conditionFailed = ({ before }: PlannedWrite, returned: string | undefined): Error =>
  new ConditionalCheckFailedException({
    message: 'The conditional request failed',
    $metadata,
    ...(returned === 'ALL_OLD' && before && { Item: before as Record<string, AttributeValue> }),
  });

const invalid = (message: string): Error =>
  new DynamoDBServiceException({ name: 'ValidationException', $fault: 'client', message, $metadata });
