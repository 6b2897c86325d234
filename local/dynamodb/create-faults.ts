import type { DynamoFaults } from '../run-options.ts';
import {
  type CancellationCode,
  type DynamoError,
  throttled,
  transactionCanceled,
  transactionConflict,
} from './dynamo-error.ts';
import { type DynamoRequest, type TableShape, type TouchedItem, touchedItems } from './touched-items.ts';
import { createTransactionLocks } from './transaction-locks.ts';
import { createWriteThrottle } from './write-throttle.ts';

export type Unprocessed = NonNullable<DynamoRequest['RequestItems']>;

/** What may go on to the engine. */
export interface Admission {
  readonly request: DynamoRequest;
  /** The part of a batch that may not. */
  readonly unprocessed: Unprocessed | undefined;
  /** Tells what the call consumed in truth. */
  charge(units: number): void;
  /** The engine has answered. */
  release(): void;
}

/** Decides for every call, before it reaches the engine, whether AWS's tables might have turned it away. */
export function createFaults(shapes: ReadonlyMap<string, TableShape>, faults: DynamoFaults) {
  const locks = createTransactionLocks();
  const throttle = createWriteThrottle();

  const conflicts = (item: TouchedItem) => faults.transactionConflicts === true && locks.isLocked(item);
  const overflows = (item: TouchedItem) => faults.throttling === true && !throttle.hasRoomFor(item);
  const isOnDemand = ({ tableName }: TouchedItem) => shapes.get(tableName)?.isOnDemand ?? true;
  const throttleError = (item: TouchedItem) =>
    throttled(isOnDemand(item), `arn:aws:dynamodb:us-east-1:000000000000:table/${item.tableName}`);
  const pass = (request: DynamoRequest, more: Partial<Admission> = {}): Admission => ({
    request,
    unprocessed: undefined,
    charge: () => {},
    release: () => {},
    ...more,
  });

  function checkTransaction(target: string, request: DynamoRequest, items: readonly TouchedItem[]) {
    const codeOf = (item: TouchedItem): CancellationCode => {
      if (conflicts(item)) return 'TransactionConflict';
      if (target === 'TransactGetItems' || !overflows(item)) return 'None';
      return isOnDemand(item) ? 'ThrottlingError' : 'ProvisionedThroughputExceeded';
    };
    const codes = items.map(codeOf);
    if (codes.some((code) => code !== 'None')) return transactionCanceled(codes);
    return pass(request, target === 'TransactGetItems' ? {} : { release: locks.lock(items) });
  }

  function checkBatch(request: DynamoRequest) {
    const admitted: Unprocessed = {};
    const unprocessed: Unprocessed = {};
    let rejectedItem: TouchedItem | undefined;
    for (const [tableName, entries] of Object.entries(request.RequestItems ?? {})) {
      for (const entry of entries) {
        const [item] = touchedItems('BatchWriteItem', { RequestItems: { [tableName]: [entry] } }, shapes);
        const isRejected = item && (conflicts(item) || overflows(item));
        if (isRejected) rejectedItem = item;
        const side = isRejected ? unprocessed : admitted;
        side[tableName] = [...(side[tableName] ?? []), entry];
      }
    }
    // AWS refuses a batch as a whole only when nothing of it could be written.
    if (rejectedItem && Object.keys(admitted).length === 0) return throttleError(rejectedItem);
    if (!rejectedItem) return pass(request);
    return pass({ ...request, RequestItems: admitted }, { unprocessed });
  }

  return {
    checkLimit(target: string, request: DynamoRequest): Admission | DynamoError {
      if (target === 'BatchWriteItem') return checkBatch(request);
      const items = touchedItems(target, request, shapes);
      if (target.startsWith('Transact')) return checkTransaction(target, request, items);
      const [item] = items;
      if (!item) return pass(request);
      if (conflicts(item)) return transactionConflict;
      if (overflows(item)) return throttleError(item);
      return pass(request, { charge: (units) => throttle.charge(item, units - item.units) });
    },
  };
}
