import { assumptions } from './assumptions.ts';
import { type OperationCalls, operations } from './operations.ts';

const [small, large] = [operations['batch of 30'], operations['batch of 70']];

/**
 * For DynamoDB a linear extrapolation from batches of 30 and of 70. Assumes one invocation of a worker for up to
 * `requestsPerWorker` requests.
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
