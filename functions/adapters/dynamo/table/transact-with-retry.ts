import { backOff } from './back-off.ts';
import { failedConditions, isConflict, type Table, type Write } from './table.ts';

interface Transaction<Result> {
  writes: readonly Write[];
  /** Returned once the transaction is done. */
  result: Result;
}

/**
 * Executes a transaction. After a conflict with another write, it backs off and plans the transaction anew.
 * @param attempts the number of attempts after which a conflict is thrown
 * @param onConditionFailed gets, for each write, whether its condition failed. If it returns a result, the attempts end
 * with this result. If it returns undefined, the failure counts as a conflict
 */
export async function transactWithRetry<Result>(
  table: Table,
  {
    attempts,
    plan,
    onConditionFailed = () => undefined,
  }: {
    attempts: number;
    plan: () => Promise<Transaction<Result>>;
    onConditionFailed?: (failed: readonly boolean[]) => { result: Result } | undefined;
  },
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const { writes, result } = await plan();
    try {
      await table.transact(writes);
      return result;
    } catch (error) {
      const failed = failedConditions(error);
      const ended = failed.includes(true) ? onConditionFailed(failed) : undefined;
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
