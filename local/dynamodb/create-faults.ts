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

/** A call that goes to the emulator. */
export interface AcceptedCall {
  readonly request: DynamoRequest;
  /** The writes of a BatchWriteItem that do not go to the emulator: its caller gets them back as UnprocessedItems. */
  readonly unprocessed: Unprocessed | undefined;
  /** Corrects the estimated write units of the call in the throttle by the units that it has consumed. */
  charge(units: number): void;
  /** Ends the locks of a transaction. Called when the emulator has responded. */
  release(): void;
}

/** Checks every call before it reaches the emulator. By `faults`, rejects calls that tables in AWS might reject. */
export function createFaults(shapes: ReadonlyMap<string, TableShape>, faults: DynamoFaults) {
  const locks = createTransactionLocks();
  const throttle = createWriteThrottle();

  const conflicts = (item: TouchedItem) => faults.transactionConflicts === true && locks.isLocked(item);
  const overflows = (item: TouchedItem) => faults.throttling === true && !throttle.takeUnits(item);
  const isOnDemand = ({ tableName }: TouchedItem) => shapes.get(tableName)?.isOnDemand ?? true;
  const throttleError = (item: TouchedItem) =>
    throttled(isOnDemand(item), `arn:aws:dynamodb:us-east-1:000000000000:table/${item.tableName}`);
  const accept = (request: DynamoRequest, more: Partial<AcceptedCall> = {}): AcceptedCall => ({
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
    return accept(request, target === 'TransactGetItems' ? {} : { release: locks.lock(items) });
  }

  function checkBatch(request: DynamoRequest) {
    const writes = batchWrites(request, shapes);
    const rejected = writes.filter(({ item }) => item && (conflicts(item) || overflows(item)));
    const accepted = writes.filter((write) => !rejected.includes(write));
    const rejectedItem = rejected.at(-1)?.item;
    if (!rejectedItem) return accept(request);
    // AWS rejects a whole batch only if it could not write any of its items.
    if (accepted.length === 0) return throttleError(rejectedItem);
    return accept({ ...request, RequestItems: byTable(accepted) }, { unprocessed: byTable(rejected) });
  }

  return {
    checkCall(target: string, request: DynamoRequest): AcceptedCall | DynamoError {
      if (target === 'BatchWriteItem') return checkBatch(request);
      const items = touchedItems(target, request, shapes);
      if (target.startsWith('Transact')) return checkTransaction(target, request, items);
      const [item] = items;
      if (!item) return accept(request);
      if (conflicts(item)) return transactionConflict;
      if (overflows(item)) return throttleError(item);
      return accept(request, { charge: (units) => throttle.charge(item, units - item.units) });
    },
  };
}

/** One entry of a BatchWriteItem call. The item is undefined if its table is not in the template. */
interface BatchWrite {
  readonly tableName: string;
  readonly entry: NonNullable<Unprocessed[string]>[number];
  readonly item: TouchedItem | undefined;
}

function batchWrites(request: DynamoRequest, shapes: ReadonlyMap<string, TableShape>): BatchWrite[] {
  return Object.entries(request.RequestItems ?? {}).flatMap(([tableName, entries]) =>
    entries.map((entry) => {
      const [item] = touchedItems('BatchWriteItem', { RequestItems: { [tableName]: [entry] } }, shapes);
      return { tableName, entry, item };
    }),
  );
}

function byTable(writes: readonly BatchWrite[]): Unprocessed {
  const entries: Unprocessed = {};
  for (const { tableName, entry } of writes) entries[tableName] = [...(entries[tableName] ?? []), entry];
  return entries;
}
