import type { DynamoFaults } from '../run-options.ts';
import {
  type CancellationCode,
  type DynamoError,
  throttled,
  transactionCanceled,
  transactionConflict,
} from './dynamo-error.ts';
import { leadingKeys } from './needed-permissions.ts';
import { createPartitionThrottle, UNITS_PER_SECOND } from './partition-throttle.ts';
import { batchReads, batchWrites, type RequestItems, readsByTable, writesByTable } from './split-batch.ts';
import { type DynamoRequest, type TableShape, type TouchedItem, touchedItems } from './touched-items.ts';

/** A call that goes to the emulator. */
export interface AcceptedCall {
  readonly request: DynamoRequest;
  /** The parts of a batch that do not go to the emulator: its caller gets them back as unprocessed. */
  readonly unprocessed: RequestItems | undefined;
  /** Corrects the estimated units of the call in the throttle by the units that it has consumed. */
  charge(units: number): void;
  /** Ends the locks of a transaction. Called when the emulator has responded. */
  release(): void;
}

// Half a unit is the least that a read consumes.
const READ_UNITS = 0.5;

type Shapes = ReadonlyMap<string, TableShape>;

/** The limits of tables that `faults` names. Without a fault, there is no limit. */
function createLimits(faults: DynamoFaults) {
  const locks = createTransactionLocks();
  const writes = createPartitionThrottle(UNITS_PER_SECOND.write);
  const reads = createPartitionThrottle(UNITS_PER_SECOND.read);
  return {
    lock: locks.lock,
    conflicts: (item: TouchedItem) => faults.transactionConflicts === true && locks.isLocked(item),
    /** Takes the item's units. Returns whether there were none. */
    overflowsByWrite: ({ partition, units }: TouchedItem) =>
      faults.throttling === true && !writes.takeUnits(partition, units),
    overflowsByRead: (partition: string, units: number) =>
      faults.throttling === true && !reads.takeUnits(partition, units),
    chargeWrite: writes.charge,
    chargeRead: reads.charge,
    throttleError: (kind: 'Read' | 'Write', tableName: string) =>
      throttled(kind, `arn:aws:dynamodb:us-east-1:000000000000:table/${tableName}`),
  };
}

type Limits = ReturnType<typeof createLimits>;

const accept = (request: DynamoRequest, more: Partial<AcceptedCall> = {}): AcceptedCall => ({
  request,
  unprocessed: undefined,
  charge: () => {},
  release: () => {},
  ...more,
});

/**
 * Checks every call before it reaches the emulator. If `faults` says so, it rejects calls that tables in AWS might
 * reject.
 */
export function createFaults(shapes: Shapes, faults: DynamoFaults) {
  const limits = createLimits(faults);
  return {
    checkCall(target: string, request: DynamoRequest): AcceptedCall | DynamoError {
      switch (target) {
        case 'GetItem':
        case 'Query':
          return checkRead(request, shapes, limits);
        case 'BatchGetItem':
          return checkBatchRead(request, shapes, limits);
        case 'BatchWriteItem':
          return checkBatchWrite(request, shapes, limits);
        case 'TransactWriteItems':
          return checkTransaction(request, shapes, limits);
        default:
          return checkWrite(target, request, shapes, limits);
      }
    },
  };
}

function checkRead(
  request: DynamoRequest & { readonly IndexName?: string },
  shapes: Shapes,
  limits: Limits,
): AcceptedCall | DynamoError {
  const { TableName = '', IndexName = '' } = request;
  const [key] = leadingKeys(request, TableName, shapes.get(TableName));
  if (key === undefined) return accept(request);
  // An index has partitions of its own.
  const partition = `${TableName}|${IndexName}|${key}`;
  if (limits.overflowsByRead(partition, READ_UNITS)) return limits.throttleError('Read', TableName);
  return accept(request, { charge: (units) => limits.chargeRead(partition, units - READ_UNITS) });
}

function checkWrite(
  target: string,
  request: DynamoRequest,
  shapes: Shapes,
  limits: Limits,
): AcceptedCall | DynamoError {
  const [item] = touchedItems(target, request, shapes);
  if (!item) return accept(request);
  if (limits.conflicts(item)) return transactionConflict;
  if (limits.overflowsByWrite(item)) return limits.throttleError('Write', item.tableName);
  return accept(request, { charge: (units) => limits.chargeWrite(item.partition, units - item.units) });
}

/** A cancelled transaction takes the units of all its items too. */
function checkTransaction(
  request: DynamoRequest,
  shapes: Shapes,
  limits: Limits,
): AcceptedCall | DynamoError {
  const items = touchedItems('TransactWriteItems', request, shapes);
  const codes = items.map((item): CancellationCode => {
    const isThrottled = limits.overflowsByWrite(item);
    if (limits.conflicts(item)) return 'TransactionConflict';
    return isThrottled ? 'ThrottlingError' : 'None';
  });
  if (codes.some((code) => code !== 'None')) return transactionCanceled(codes);
  return accept(request, { release: limits.lock(items) });
}

function checkBatchWrite(request: DynamoRequest, shapes: Shapes, limits: Limits): AcceptedCall | DynamoError {
  const writes = batchWrites(request, shapes);
  const rejected = writes.filter(
    ({ item }) => item && (limits.conflicts(item) || limits.overflowsByWrite(item)),
  );
  const accepted = writes.filter((write) => !rejected.includes(write));
  const [first] = rejected;
  if (!first) return accept(request);
  // AWS rejects a whole batch only if it could not process any of its items.
  if (accepted.length === 0) return limits.throttleError('Write', first.tableName);
  return accept(
    { ...request, RequestItems: writesByTable(accepted) },
    { unprocessed: writesByTable(rejected) },
  );
}

function checkBatchRead(request: DynamoRequest, shapes: Shapes, limits: Limits): AcceptedCall | DynamoError {
  const reads = batchReads(request, shapes);
  const rejected = reads.filter(({ partition }) => limits.overflowsByRead(partition, READ_UNITS));
  const accepted = reads.filter((read) => !rejected.includes(read));
  const [first] = rejected;
  if (!first) return accept(request);
  if (accepted.length === 0) return limits.throttleError('Read', first.tableName);
  return accept(
    { ...request, RequestItems: readsByTable(accepted) },
    { unprocessed: readsByTable(rejected) },
  );
}

/** The items of the write transactions in progress. */
export function createTransactionLocks() {
  const locked = new Set<string>();
  return {
    isLocked: ({ itemKey }: TouchedItem) => locked.has(itemKey),
    /** Locks the items until the returned function is called. */
    lock(items: readonly TouchedItem[]): () => void {
      for (const { itemKey } of items) locked.add(itemKey);
      return () => {
        for (const { itemKey } of items) locked.delete(itemKey);
      };
    },
  };
}
