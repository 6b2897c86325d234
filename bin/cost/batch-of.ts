import { assumptions } from './assumptions.ts';
import { type OperationCalls, operations } from './operations.ts';

/** As measured, a worker first claims thirty requests, then twenty at a time: the larger batch has two claims more. */
const [small, large] = [operations['batch of 30'], operations['batch of 70']];

/**
 * Returns the calls of a batch with this number of requests: for DynamoDB a linear extrapolation from batches of 30 and
 * of 70. A worker starts another request whenever one ends. Here, each `requestsPerWorker` requests count as one
 * invocation, which lasts as long as one reply.
 */
export function batchOf(requests: number): OperationCalls {
  const extrapolate = (ofSmall = 0, ofLarge = 0) =>
    Math.round(ofSmall + ((ofLarge - ofSmall) / 40) * (requests - 30));
  return {
    ...small,
    invocations: {
      ...small.invocations,
      ProcessBatchItems: Math.ceil(requests / assumptions.requestsPerWorker),
    },
    dynamodb: Object.fromEntries(
      Object.entries(small.dynamodb).map(([name, count]) => [name, extrapolate(count, large.dynamodb[name])]),
    ),
    readUnits: extrapolate(small.readUnits, large.readUnits),
    writeUnits: extrapolate(small.writeUnits, large.writeUnits),
  };
}
