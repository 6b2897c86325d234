import { setTimeout as sleep } from 'node:timers/promises';
import type { RunContext } from '../run-context.ts';

// After this time without a call, probably no client will call soon, so a loading thread delays no call.
const QUIET_MILLISECONDS = 1000;

/**
 * Loads one thread of each function after the start, one after another. Functions that client requests wait for are
 * first. The others load only while no function is called, because a loading thread occupies a processor.
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
