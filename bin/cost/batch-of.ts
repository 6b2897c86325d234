import { requestsPerWorker } from './assumptions.ts';
import { type OperationCalls, operations } from './operations.ts';

/** The first claim has thirty requests, and each further one twenty: the larger batch has two claims more. */
const [small, large] = [operations['batch of 30'], operations['batch of 70']];

/**
 * The calls of a batch with this number of requests: a linear extrapolation from batches of 30 and of 70. A worker
 * starts another request whenever one ends. Here it counts as one invocation, as long as one reply, for each
 * `requestsPerWorker` requests.
 */
export function batchOf(requests: number): OperationCalls {
  const extrapolate = (ofSmall = 0, ofLarge = 0) =>
    Math.round(ofSmall + ((ofLarge - ofSmall) / 40) * (requests - 30));
  const counts = (ofSmall: Record<string, number>, ofLarge: Record<string, number>) =>
    Object.fromEntries(
      Object.keys({ ...ofSmall, ...ofLarge }).map((name) => [
        name,
        extrapolate(ofSmall[name], ofLarge[name]),
      ]),
    );
  return {
    invocations: {
      ...counts(small.invocations, large.invocations),
      ProcessBatchItems: Math.ceil(requests / requestsPerWorker),
    },
    dynamodb: counts(small.dynamodb, large.dynamodb),
    readUnits: extrapolate(small.readUnits, large.readUnits),
    writeUnits: extrapolate(small.writeUnits, large.writeUnits),
    requests: counts(small.requests, large.requests),
    transitions: extrapolate(small.transitions, large.transitions),
  };
}
