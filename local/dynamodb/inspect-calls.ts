import type { IncomingMessage } from 'node:http';
import type { DynamoFaults } from '../run-options.ts';
import { type AcceptedCall, createFaults, type Unprocessed } from './create-faults.ts';
import type { DynamoCall } from './dynamo-call.ts';
import { internalServerError } from './dynamo-error.ts';
import type { Forward } from './forward-request.ts';
import type { DynamoRequest, TableShape } from './touched-items.ts';
import { errorResponse, jsonResponse, type WireResponse } from './wire-response.ts';

/** A call that the policies allow. */
export interface WireCall {
  readonly request: IncomingMessage;
  /** The operation, such as `PutItem`. */
  readonly target: string;
  /** Undefined if an operator calls. */
  readonly functionName: string | undefined;
  readonly input: DynamoRequest;
  readonly at: number;
}

export interface InspectionOptions {
  readonly shapes: ReadonlyMap<string, TableShape>;
  readonly faults: DynamoFaults;
  readonly record: ((call: DynamoCall) => void) | undefined;
}

interface Capacity {
  readonly CapacityUnits?: number;
}

const WRITES = new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems']);

export const READS = new Set(['GetItem', 'Query', 'Scan', 'BatchGetItem', 'TransactGetItems']);

// These operations can return the consumed capacity.
const MEASURED = new Set([...WRITES, ...READS]);

/** Forwards calls, except calls and parts of batches that the faults reject. Records every call. */
export function inspectCalls(
  { shapes, faults, record }: InspectionOptions,
  forward: Forward,
): (call: WireCall) => Promise<WireResponse> {
  const { checkCall } = createFaults(shapes, faults);

  function recordCall({ target, functionName, input, at }: WireCall, status: number, units: number): void {
    const consumed = WRITES.has(target)
      ? { readUnits: 0, writeUnits: units }
      : { readUnits: units, writeUnits: 0 };
    record?.({ target, tableName: tableNames(input), functionName, status, consumed, at });
  }

  async function forwardUnmeasured(call: WireCall, accepted: AcceptedCall): Promise<WireResponse> {
    const response = await forward(call.request, JSON.stringify(accepted.request));
    recordCall(call, response.status, 0);
    return response;
  }

  /** The caller gets the consumed capacity only if it has requested it. */
  async function forwardMeasured(call: WireCall, accepted: AcceptedCall): Promise<WireResponse> {
    const isRequested = (call.input.ReturnConsumedCapacity ?? 'NONE') !== 'NONE';
    const outgoing = isRequested
      ? accepted.request
      : { ...accepted.request, ReturnConsumedCapacity: 'TOTAL' };
    const response = await forward(call.request, JSON.stringify(outgoing));
    const output = JSON.parse(response.body.toString()) as Record<string, unknown>;
    const units = consumedUnits(output);
    recordCall(call, response.status, units);
    accepted.charge(units);
    if (!isRequested) delete output.ConsumedCapacity;
    if (response.status === 200 && accepted.unprocessed) {
      output.UnprocessedItems = mergeUnprocessed(
        output.UnprocessedItems as Unprocessed,
        accepted.unprocessed,
      );
    }
    return jsonResponse(response.status, output, response.headers['x-amzn-requestid']);
  }

  return async (call) => {
    const { target, functionName, input } = call;
    const isRejected = faults.reject?.({ target, functionName, body: input });
    const checked = isRejected ? internalServerError : checkCall(target, input);
    if ('status' in checked) {
      recordCall(call, checked.status, 0);
      return errorResponse(checked);
    }
    try {
      return MEASURED.has(target)
        ? await forwardMeasured(call, checked)
        : await forwardUnmeasured(call, checked);
    } finally {
      checked.release();
    }
  };
}

function consumedUnits({ ConsumedCapacity }: Record<string, unknown>): number {
  const capacity = [ConsumedCapacity ?? []].flat() as Capacity[];
  return capacity.reduce((sum, { CapacityUnits }) => sum + (CapacityUnits ?? 0), 0);
}

function tableNames({ TableName, RequestItems, TransactItems }: DynamoRequest): string {
  const inTransaction = (TransactItems ?? []).flatMap((entry) =>
    Object.values(entry).map((one) => one.TableName),
  );
  const names = [TableName, ...Object.keys(RequestItems ?? {}), ...inTransaction];
  return [...new Set(names.filter((name) => name !== undefined))].sort().join(',');
}

function mergeUnprocessed(fromEmulator: Unprocessed | undefined, fromFaults: Unprocessed): Unprocessed {
  const tables = new Set([...Object.keys(fromEmulator ?? {}), ...Object.keys(fromFaults)]);
  return Object.fromEntries(
    [...tables].map((name) => [name, [...(fromEmulator?.[name] ?? []), ...(fromFaults[name] ?? [])]]),
  );
}
