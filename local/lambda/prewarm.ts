import { setTimeout as sleep } from 'node:timers/promises';
import type { RunContext } from '../run-context.ts';

// Somebody who has not called for so long is not in the middle of something.
const QUIET_MILLISECONDS = 1000;

/**
 * Loads a thread of each function behind the start: first those that requests of clients wait for, one after another,
 * then the others as long as nobody calls, since a thread that loads takes a processor.
 */
export async function prewarm({ serving, functions, clientFacingFunctions }: RunContext): Promise<void> {
  await serving.promise;
  for (const arn of clientFacingFunctions) await functions.get(arn)?.prewarm();
  const pools = [...functions.values()];
  for (const pool of pools) {
    for (;;) {
      const quiet = Math.min(...pools.map(({ quietMilliseconds }) => quietMilliseconds()));
      if (quiet >= QUIET_MILLISECONDS) break;
      await sleep(QUIET_MILLISECONDS - quiet, undefined, { ref: false });
    }
    await pool.prewarm();
  }
}
