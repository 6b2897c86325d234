import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { backOff } from './back-off.ts';
import type { Table, Write } from './table.ts';

const cancellationsIn = (error: unknown): string[] =>
  error instanceof TransactionCanceledException
    ? (error.CancellationReasons ?? []).map(({ Code = '' }) => Code)
    : [];

const conflicts = ['ConditionalCheckFailed', 'TransactionConflict'];
const throttles = ['ThrottlingError', 'ProvisionedThroughputExceeded'];

/** Also for a condition that failed and for throttling: a retry may succeed. */
export const isConflict = (error: unknown): boolean =>
  cancellationsIn(error).some((code) => conflicts.includes(code) || throttles.includes(code));

const isThrottled = (error: unknown): boolean =>
  cancellationsIn(error).some((code) => throttles.includes(code));

interface Attempts<Result> {
  /** The call fails after this many conflicts and failed conditions. Throttling has a bound of its own. */
  attempts: number;
  plan: () => Promise<{ writes: readonly Write[]; result: Result }>;
  /** Gets, for each write, whether its condition failed. If it returns undefined, further attempts may follow. */
  onConditionFailed?: (failed: readonly boolean[]) => { result: Result } | undefined;
}

/**
 * The longest pause, in milliseconds. A partition gets new capacity each second, and a throttled transaction also
 * consumes capacity of its other partitions.
 */
const throttledPause = 1500;

/** The pauses between the attempts take about 14 s on average. */
const throttledAttempts = 20;

function pausesOf(table: Table, attempts: number): (failure: unknown) => Promise<void> {
  let conflicted = 0;
  let throttled = 0;
  return async (failure) => {
    if (isThrottled(failure)) throttled += 1;
    else if (isConflict(failure)) conflicted += 1;
    else throw failure;
    if (conflicted === attempts || throttled === throttledAttempts) throw failure;
    await (isThrottled(failure) ? table.pauseUpTo(throttledPause) : backOff(table, conflicted));
  };
}

/**
 * Executes a transaction, which each attempt plans anew.
 * @throws the last error for which `isConflict` is true, if the attempts are exhausted
 */
export async function transactWithRetry<Result>(
  table: Table,
  { attempts, plan, onConditionFailed }: Attempts<Result>,
): Promise<Result> {
  const pauseAfter = pausesOf(table, attempts);
  for (;;) {
    const { writes, result } = await plan();
    try {
      await table.transact(writes);
      return result;
    } catch (error) {
      const failed = cancellationsIn(error).map((code) => code === 'ConditionalCheckFailed');
      const ended = failed.includes(true) ? onConditionFailed?.(failed) : undefined;
      if (ended !== undefined) return ended.result;
      await pauseAfter(error);
    }
  }
}

/** Enough, because few callers write the same items at the same time. */
const maxAttempts = 20;

/** @returns false if the condition of the first write failed */
export const transactIfFirst = (
  table: Table,
  plan: () => Promise<readonly Write[]> | readonly Write[],
): Promise<boolean> =>
  transactWithRetry(table, {
    attempts: maxAttempts,
    plan: async () => ({ writes: await plan(), result: true }),
    onConditionFailed: ([isFirst]) => (isFirst === true ? { result: false } : undefined),
  });
