import { type OperationCalls, operations } from './operations.ts';

const [small, large, difference] = [operations['batch of 10'], operations['batch of 50'], 40];

/** The calls of a batch with this number of requests: a linear extrapolation from batches of 10 and of 50. */
export function batchOf(requests: number): OperationCalls {
  const extrapolate = (ofSmall = 0, ofLarge = 0) =>
    Math.round(ofSmall + ((ofLarge - ofSmall) / difference) * (requests - 10));
  const counts = (ofSmall: Record<string, number>, ofLarge: Record<string, number>) =>
    Object.fromEntries(
      Object.keys({ ...ofSmall, ...ofLarge }).map((name) => [
        name,
        extrapolate(ofSmall[name], ofLarge[name]),
      ]),
    );
  return {
    invocations: counts(small.invocations, large.invocations),
    dynamodb: counts(small.dynamodb, large.dynamodb),
    readUnits: extrapolate(small.readUnits, large.readUnits),
    writeUnits: extrapolate(small.writeUnits, large.writeUnits),
    requests: counts(small.requests, large.requests),
    transitions: extrapolate(small.transitions, large.transitions),
  };
}
