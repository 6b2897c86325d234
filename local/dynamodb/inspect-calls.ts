import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoCall, DynamoFaults, DynamoLatency } from '../run-options.ts';
import { type AcceptedCall, FaultChecks } from './create-faults.ts';
import { internalServerError, jsonResponse, type WireResponse } from './dynamo-error.ts';
import type { Forward } from './forward-request.ts';
import { mergeUnprocessed, type RequestItems } from './split-batch.ts';
import { type DynamoRequest, type TableShape, touchedItems } from './touched-items.ts';

export interface WireCall {
  readonly request: IncomingMessage;
  readonly target: string;
  /** Undefined if the caller is not a function. */
  readonly functionName: string | undefined;
  readonly input: DynamoRequest;
  readonly at: number;
}

export interface InspectionOptions {
  readonly shapes: ReadonlyMap<string, TableShape>;
  readonly faults: DynamoFaults;
  readonly record: ((call: DynamoCall) => void) | undefined;
}

const WRITES = new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems']);

export const READS = new Set(['GetItem', 'Query', 'Scan', 'BatchGetItem']);

const MEASURED = new Set([...WRITES, ...READS]);

const CONSUMING_ERROR = /#(ConditionalCheckFailed|TransactionCanceled)Exception$/;

export function inspectCalls(
  { shapes, faults, record }: InspectionOptions,
  forward: Forward,
): (call: WireCall) => Promise<WireResponse> {
  const checks = new FaultChecks(shapes, faults);

  function recordCall({ target, functionName, input, at }: WireCall, status: number, units: number): void {
    const consumed = WRITES.has(target)
      ? { readUnits: 0, writeUnits: units }
      : { readUnits: units, writeUnits: 0 };
    record?.({ target, tableName: tableNames(input), functionName, status, consumed, at });
  }

  /**
   * In AWS, a write whose condition fails and a cancelled transaction consume units. Their responses do not say how
   * many, so these are estimated.
   */
  const unitsOfRejected = ({ target, input }: WireCall, { __type }: Record<string, unknown>): number =>
    WRITES.has(target) && CONSUMING_ERROR.test(String(__type))
      ? touchedItems(target, input, shapes).reduce((sum, { units }) => sum + units, 0)
      : 0;

  async function forwardAccepted(call: WireCall, accepted: AcceptedCall): Promise<WireResponse> {
    const isMeasured = MEASURED.has(call.target);
    const isRequested = (call.input.ReturnConsumedCapacity ?? 'NONE') !== 'NONE';
    const outgoing = {
      ...accepted.request,
      ...(isMeasured && !isRequested && { ReturnConsumedCapacity: 'TOTAL' }),
    };
    const response = await forward(call.request, JSON.stringify(outgoing));
    if (!isMeasured) {
      recordCall(call, response.status, 0);
      return response;
    }
    const output = JSON.parse(response.body.toString()) as Record<string, unknown>;
    const units = response.status === 200 ? consumedUnits(output) : unitsOfRejected(call, output);
    recordCall(call, response.status, units);
    accepted.charge?.(units);
    if (!isRequested) delete output.ConsumedCapacity;
    if (response.status === 200 && accepted.unprocessed) {
      const field = call.target === 'BatchGetItem' ? 'UnprocessedKeys' : 'UnprocessedItems';
      output[field] = mergeUnprocessed(output[field] as RequestItems | undefined, accepted.unprocessed);
    }
    return jsonResponse({ status: response.status, body: output }, response.headers['x-amzn-requestid']);
  }

  return async (call) => {
    const { target, functionName, input } = call;
    const isRejected = faults.reject?.({ target, functionName, body: input });
    const checked = isRejected ? internalServerError : checks.check(target, input);
    // The locks of a transaction last for this time too.
    if (faults.latency) await sleep(latencyOf(target, faults.latency));
    if ('status' in checked) {
      recordCall(call, checked.status, unitsOfRejected(call, checked.body));
      return jsonResponse(checked);
    }
    try {
      return await forwardAccepted(call, checked);
    } finally {
      checked.release?.();
    }
  };
}

const latencyOf = (target: string, { read, write, transaction }: DynamoLatency): number => {
  if (target.startsWith('Transact')) return transaction;
  return WRITES.has(target) ? write : read;
};

function consumedUnits({ ConsumedCapacity }: Record<string, unknown>): number {
  const capacity = [ConsumedCapacity ?? []].flat() as { readonly CapacityUnits?: number }[];
  return capacity.reduce((sum, { CapacityUnits }) => sum + (CapacityUnits ?? 0), 0);
}

function tableNames({ TableName, RequestItems, TransactItems }: DynamoRequest): string {
  const inTransaction = (TransactItems ?? []).flatMap((entry) =>
    Object.values(entry).map((one) => one.TableName),
  );
  const names = [TableName, ...Object.keys(RequestItems ?? {}), ...inTransaction];
  return [...new Set(names.filter((name) => name !== undefined))].sort().join(',');
}
