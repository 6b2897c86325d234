import type { Batch } from '#domain/batches/batch.ts';
import type { BatchWorld } from './batch-world.ts';

/** The next process dies after the first write with this name. */
export function killOnce(world: BatchWorld, write: string): void {
  let isKilled = false;
  world.state.killer = {
    diesAfter(name) {
      if (isKilled || name !== write) return false;
      isKilled = true;
      return true;
    },
  };
}

/** Since the creation of the batch. */
export const secondsSince = (world: BatchWorld, { createdAt }: Batch): number =>
  (world.clock.now().getTime() - Date.parse(createdAt)) / 1000;
