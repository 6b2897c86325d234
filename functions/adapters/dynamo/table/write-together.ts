import { backOff } from './back-off.ts';
import { failedConditions, isConflict, type Table, type Write } from './table.ts';

/** Enough because few callers write the same items at the same time: batches of one workspace that start or end. */
const maxAttempts = 20;

/**
 * Executes a transaction. If it conflicts with another write, `plan` is called again and the new writes are attempted.
 * @returns false if the condition of the first write fails
 */
export async function writeTogether(
  table: Table,
  plan: () => Promise<(TableName: string) => Write[]>,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await table.transact(await plan());
      return true;
    } catch (error) {
      if (failedConditions(error)[0] === true) return false;
      if (!isConflict(error) || attempt === maxAttempts) throw error;
    }
    await backOff(attempt);
  }
}
