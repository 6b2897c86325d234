import { backOff } from './back-off.ts';
import { failedConditions, isConflict, type Table, type Write } from './table.ts';

/** Others that write the same items in one moment are few: batches of one workspace that begin or end. */
const attemptsToWrite = 20;

/**
 * Writes that hold together, planned anew when others were writing the same items.
 * @returns false when the condition of the first write does not hold
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
      if (!isConflict(error) || attempt === attemptsToWrite) throw error;
    }
    await backOff(attempt);
  }
}
