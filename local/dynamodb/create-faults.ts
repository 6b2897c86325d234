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
  settle(units: number): void;
  /** The engine has answered. */
  release(): void;
}

/** Decides for every call, before it reaches the engine, whether AWS's tables might have turned it away. */
export function createFaults(shapes: ReadonlyMap<string, TableShape>, faults: DynamoFaults) {
  const locks = createTransactionLocks();
  const throttle = createWriteThrottle();

  const conflicts = (item: TouchedItem) => faults.transactionConflicts === true && locks.isLocked(item);
  const overflows = (item: TouchedItem) => faults.throttling === true && !throttle.admits(item);
  const isOnDemand = ({ tableName }: TouchedItem) => shapes.get(tableName)?.isOnDemand ?? true;
  const throttleError = (item: TouchedItem) =>
    throttled(isOnDemand(item), `arn:aws:dynamodb:us-east-1:000000000000:table/${item.tableName}`);
  const pass = (request: DynamoRequest, more: Partial<Admission> = {}): Admission => ({
    request,
    unprocessed: undefined,
    settle: () => {},
    release: () => {},
    ...more,
  });

  function admitTransaction(target: string, request: DynamoRequest, items: readonly TouchedItem[]) {
    const codeOf = (item: TouchedItem): CancellationCode => {
      if (conflicts(item)) return 'TransactionConflict';
      if (target === 'TransactGetItems' || !overflows(item)) return 'None';
      return isOnDemand(item) ? 'ThrottlingError' : 'ProvisionedThroughputExceeded';
    };
    const codes = items.map(codeOf);
    if (codes.some((code) => code !== 'None')) return transactionCanceled(codes);
    return pass(request, target === 'TransactGetItems' ? {} : { release: locks.lock(items) });
  }

  function admitBatch(request: DynamoRequest) {
    const admitted: Unprocessed = {};
    const unprocessed: Unprocessed = {};
    let refusedItem: TouchedItem | undefined;
    for (const [tableName, entries] of Object.entries(request.RequestItems ?? {})) {
      for (const entry of entries) {
        const [item] = touchedItems('BatchWriteItem', { RequestItems: { [tableName]: [entry] } }, shapes);
        const isRefused = item && (conflicts(item) || overflows(item));
        if (isRefused) refusedItem = item;
        const side = isRefused ? unprocessed : admitted;
        side[tableName] = [...(side[tableName] ?? []), entry];
      }
    }
    // AWS refuses a batch as a whole only when nothing of it could be written.
    if (refusedItem && Object.keys(admitted).length === 0) return throttleError(refusedItem);
    if (!refusedItem) return pass(request);
    return pass({ ...request, RequestItems: admitted }, { unprocessed });
  }

  return {
    admit(target: string, request: DynamoRequest): Admission | DynamoError {
      if (target === 'BatchWriteItem') return admitBatch(request);
      const items = touchedItems(target, request, shapes);
      if (target.startsWith('Transact')) return admitTransaction(target, request, items);
      const [item] = items;
      if (!item) return pass(request);
      if (conflicts(item)) return transactionConflict;
      if (overflows(item)) return throttleError(item);
      return pass(request, { settle: (units) => throttle.charge(item, units - item.units) });
    },
  };
}
