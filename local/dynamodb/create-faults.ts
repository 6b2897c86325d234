import type { DynamoFaults } from '../run-options.ts';
import { createThrottle } from '../wire/throttle.ts';
import {
  type CancellationCode,
  type DynamoError,
  throttled,
  transactionCanceled,
  transactionConflict,
} from './dynamo-error.ts';
import { leadingKeys } from './needed-permissions.ts';
import { type RequestItems, splitBatch } from './split-batch.ts';
import {
  type BatchEntry,
  type DynamoRequest,
  type Item,
  type TableShape,
  type TouchedItem,
  touchedItems,
} from './touched-items.ts';

export interface AcceptedCall {
  readonly request: DynamoRequest;
  readonly unprocessed?: RequestItems;
  /** Replaces the estimated units in the throttle by the consumed ones. */
  charge?(units: number): void;
  /** Ends the locks of a transaction. Must be called even if the call fails. */
  release?(): void;
}

// AWS's limits of one partition. Its burst and adaptive capacity are not emulated.
const WRITES = { perSecond: 1000, burst: 1000 };
const READS = { perSecond: 3000, burst: 3000 };

// Half a unit is the least that a read consumes.
const READ_UNITS = 0.5;

export class FaultChecks {
  readonly #shapes: ReadonlyMap<string, TableShape>;
  readonly #faults: DynamoFaults;
  readonly #writes = createThrottle<string>();
  readonly #reads = createThrottle<string>();
  readonly #locked = new Set<string>();

  constructor(shapes: ReadonlyMap<string, TableShape>, faults: DynamoFaults) {
    this.#shapes = shapes;
    this.#faults = faults;
  }

  check(target: string, request: DynamoRequest): AcceptedCall | DynamoError {
    switch (target) {
      case 'GetItem':
      case 'Query':
        return this.#checkRead(request);
      case 'BatchGetItem':
        return this.#checkBatch('Read', request, (table, key) => this.#isKeyRejected(table, key as Item));
      case 'BatchWriteItem':
        return this.#checkBatch('Write', request, (table, entry) => this.#isEntryRejected(table, entry));
      case 'TransactWriteItems':
        return this.#checkTransaction(request);
      default:
        return this.#checkWrite(target, request);
    }
  }

  #checkRead(request: DynamoRequest): AcceptedCall | DynamoError {
    const { TableName = '', IndexName = '' } = request;
    const [key] = leadingKeys(request, TableName, this.#shapes.get(TableName));
    if (key === undefined) return { request };
    // A global secondary index has partitions of its own.
    const partition = `${TableName}|${IndexName}|${key}`;
    if (this.#overflowsByRead(partition)) return throttled('Read', TableName);
    return { request, charge: (units) => this.#reads.charge(partition, READS, units - READ_UNITS) };
  }

  #checkWrite(target: string, request: DynamoRequest): AcceptedCall | DynamoError {
    const [item] = touchedItems(target, request, this.#shapes);
    if (!item) return { request };
    if (this.#conflicts(item)) return transactionConflict;
    if (this.#overflowsByWrite(item)) return throttled('Write', item.tableName);
    return { request, charge: (units) => this.#writes.charge(item.partition, WRITES, units - item.units) };
  }

  /** A cancelled transaction may take units too. */
  #checkTransaction(request: DynamoRequest): AcceptedCall | DynamoError {
    const items = touchedItems('TransactWriteItems', request, this.#shapes);
    const codes = items.map((item): CancellationCode => {
      const isThrottled = this.#overflowsByWrite(item);
      if (this.#conflicts(item)) return 'TransactionConflict';
      return isThrottled ? 'ThrottlingError' : 'None';
    });
    if (codes.some((code) => code !== 'None')) return transactionCanceled(codes);
    for (const { itemKey } of items) this.#locked.add(itemKey);
    return {
      request,
      release: () => {
        for (const { itemKey } of items) this.#locked.delete(itemKey);
      },
    };
  }

  #checkBatch(
    kind: 'Read' | 'Write',
    request: DynamoRequest,
    isRejected: (tableName: string, entry: BatchEntry | Item) => boolean,
  ): AcceptedCall | DynamoError {
    const { accepted, rejected } = splitBatch(request.RequestItems ?? {}, isRejected);
    const [first] = Object.keys(rejected);
    if (first === undefined) return { request };
    // AWS throttles a whole batch only if it could not process any of its items.
    if (Object.keys(accepted).length === 0) return throttled(kind, first);
    return { request: { ...request, RequestItems: accepted }, unprocessed: rejected };
  }

  #isEntryRejected(tableName: string, entry: BatchEntry): boolean {
    const RequestItems = { [tableName]: [entry] };
    const [item] = touchedItems('BatchWriteItem', { RequestItems }, this.#shapes);
    return item !== undefined && (this.#conflicts(item) || this.#overflowsByWrite(item));
  }

  #isKeyRejected(TableName: string, Key: Item): boolean {
    const [value] = leadingKeys({ TableName, Key }, TableName, this.#shapes.get(TableName));
    return this.#overflowsByRead(`${TableName}||${value}`);
  }

  #conflicts({ itemKey }: TouchedItem): boolean {
    return this.#faults.transactionConflicts === true && this.#locked.has(itemKey);
  }

  /** With throttling, takes the item's units unless it returns true. */
  #overflowsByWrite({ partition, units }: TouchedItem): boolean {
    return this.#faults.throttling === true && !this.#writes.take(partition, WRITES, units);
  }

  #overflowsByRead(partition: string): boolean {
    return this.#faults.throttling === true && !this.#reads.take(partition, READS, READ_UNITS);
  }
}
