import { type OperationCalls, operations } from './operations.ts';

const [small, large, between] = [operations['batch of 10'], operations['batch of 50'], 40];

/** What a batch of so many requests asks for, on the line through those of 10 and of 50. */
export function batchOf(requests: number): OperationCalls {
  const at = (least = 0, most = 0) => Math.round(least + ((most - least) / between) * (requests - 10));
  const counts = (least: Record<string, number>, most: Record<string, number>) =>
    Object.fromEntries(Object.keys({ ...least, ...most }).map((name) => [name, at(least[name], most[name])]));
  return {
    invocations: counts(small.invocations, large.invocations),
    dynamodb: counts(small.dynamodb, large.dynamodb),
    readUnits: at(small.readUnits, large.readUnits),
    writeUnits: at(small.writeUnits, large.writeUnits),
    requests: counts(small.requests, large.requests),
    transitions: at(small.transitions, large.transitions),
  };
}
