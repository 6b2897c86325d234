import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { backOff } from './back-off.ts';
import type { Table, Write } from './table.ts';

/** For each write of a cancelled transaction, why it was cancelled. Empty for any other error. */
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
  /** The number of attempts after which a conflict is thrown. Throttling has a bound of its own. */
  attempts: number;
  /** @returns the writes, and the result once they are done */
  plan: () => Promise<{ writes: readonly Write[]; result: Result }>;
  /**
   * Gets, for each write, whether its condition failed. If it returns a result, the attempts end with this result. If it
   * returns undefined, the failure counts as a conflict.
   */
  onConditionFailed?: (failed: readonly boolean[]) => { result: Result } | undefined;
}

/**
 * A partition's capacity is that of a second, and a throttled transaction takes capacity of its other partitions. So an
 * attempt that is throttled waits up to this many milliseconds. `npm run bench:chats`: 64 creators at a partition's limit
 * consume 19 instead of 34 write units a chat.
 */
const throttledPause = 1500;

/** Throttled attempts after which a transaction fails. Their pauses take about 15 s. */
const throttledAttempts = 20;

/** @returns a pause after each failed attempt, which throws the failure if no further attempt may succeed */
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

/** Executes a transaction. After a conflict (`isConflict`), it backs off and plans the transaction anew. */
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

/** Enough because few callers write the same items at the same time: batches of one workspace that start or end. */
const maxAttempts = 20;

/** @returns false if the condition of the first write fails */
export const transactIfFirst = (
  table: Table,
  plan: () => Promise<readonly Write[]> | readonly Write[],
): Promise<boolean> =>
  transactWithRetry(table, {
    attempts: maxAttempts,
    plan: async () => ({ writes: await plan(), result: true }),
    onConditionFailed: ([isFirst]) => (isFirst === true ? { result: false } : undefined),
  });
