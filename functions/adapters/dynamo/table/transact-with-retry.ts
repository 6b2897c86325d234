import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { backOff } from './back-off.ts';
import type { Table, Write } from './table.ts';

/** For each write of a cancelled transaction, why it was cancelled. Empty for any other error. */
const cancellationsIn = (error: unknown): string[] =>
  error instanceof TransactionCanceledException
    ? (error.CancellationReasons ?? []).map(({ Code = '' }) => Code)
    : [];

const conflicts = [
  ...['ConditionalCheckFailed', 'TransactionConflict'],
  ...['ThrottlingError', 'ProvisionedThroughputExceeded'],
];

/** Whether a transaction was cancelled because of concurrent writes, a condition or throttling: a retry may succeed. */
export const isConflict = (error: unknown): boolean =>
  cancellationsIn(error).some((code) => conflicts.includes(code));

interface Attempts<Result> {
  /** The number of attempts after which a conflict is thrown. */
  attempts: number;
  /** @returns the writes, and the result once they are done */
  plan: () => Promise<{ writes: readonly Write[]; result: Result }>;
  /**
   * Gets, for each write, whether its condition failed. If it returns a result, the attempts end with this result. If it
   * returns undefined, the failure counts as a conflict.
   */
  onConditionFailed?: (failed: readonly boolean[]) => { result: Result } | undefined;
}

/** Executes a transaction. After a conflict (`isConflict`), it backs off and plans the transaction anew. */
export async function transactWithRetry<Result>(
  table: Table,
  { attempts, plan, onConditionFailed }: Attempts<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const { writes, result } = await plan();
    try {
      await table.transact(writes);
      return result;
    } catch (error) {
      const failed = cancellationsIn(error).map((code) => code === 'ConditionalCheckFailed');
      const ended = failed.includes(true) ? onConditionFailed?.(failed) : undefined;
      if (ended !== undefined) return ended.result;
      if (!isConflict(error) || attempt === attempts) throw error;
    }
    await backOff(table, attempt);
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
