import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { backOff } from './back-off.ts';
import type { Table, Write } from './table.ts';

/** Returns a code for each write of a cancelled transaction: why it failed, or `None`. Empty for any other error. */
const cancellationsIn = (error: unknown): string[] =>
  error instanceof TransactionCanceledException
    ? (error.CancellationReasons ?? []).map(({ Code = '' }) => Code)
    : [];

const conflicts = ['ConditionalCheckFailed', 'TransactionConflict'];
const throttles = ['ThrottlingError', 'ProvisionedThroughputExceeded'];

/** Whether a transaction was cancelled because of concurrent writes, a condition or throttling: a retry may succeed. */
export const isConflict = (error: unknown): boolean =>
  cancellationsIn(error).some((code) => conflicts.includes(code) || throttles.includes(code));

const isThrottled = (error: unknown): boolean =>
  cancellationsIn(error).some((code) => throttles.includes(code));

interface Attempts<Result> {
  /** After this many conflicts, the last one is thrown. Throttling has a bound of its own. */
  attempts: number;
  /**
   * Plans an attempt.
   * @returns the writes, and the result of the call if they succeed
   */
  plan: () => Promise<{ writes: readonly Write[]; result: Result }>;
  /**
   * Gets, for each write, whether its condition failed. If it returns a result, the attempts end with this result. If
   * it returns undefined, further attempts may follow.
   */
  onConditionFailed?: (failed: readonly boolean[]) => { result: Result } | undefined;
}

/**
 * After a throttled attempt, the next one waits for up to this many milliseconds. A partition gets new capacity each
 * second, and a throttled transaction also consumes capacity of its other partitions.
 */
const throttledPause = 1500;

/** After this many throttled attempts, a transaction fails. The pauses between them take about 14 s. */
const throttledAttempts = 20;

/**
 * Makes a function that pauses after a failed attempt. It throws the failure instead if a retry cannot help, or after
 * too many attempts.
 */
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
 * Executes a transaction. After a conflict or throttling (`isConflict`), it waits and plans the transaction anew.
 * @throws the last failure if the attempts are exhausted, and any other error at once
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

/**
 * Enough, because few callers write the same items at the same time: for example, batches of one workspace that end.
 */
const maxAttempts = 20;

/**
 * Executes a transaction, with retries.
 * @returns false if the condition of the first write fails
 */
export const transactIfFirst = (
  table: Table,
  plan: () => Promise<readonly Write[]> | readonly Write[],
): Promise<boolean> =>
  transactWithRetry(table, {
    attempts: maxAttempts,
    plan: async () => ({ writes: await plan(), result: true }),
    onConditionFailed: ([isFirst]) => (isFirst === true ? { result: false } : undefined),
  });
