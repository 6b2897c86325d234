import { setTimeout as sleep } from 'node:timers/promises';
import type { PreparationLeases } from '#domain/files/file-index.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';

/** Longer than the 60 s that the preparing function has. If the process that has the lease dies, another one takes it. */
const leaseMilliseconds = 65_000;

/** Preparing a file usually takes 1.5 s. A check is one read of S3. */
const checkMilliseconds = 1000;

interface Shared {
  work: Promise<void>;
  readers: number;
  stop: AbortController;
}

/**
 * Prepares a file once for all readers: in this process they share one preparation, and processes share it by a lease.
 * It is stopped when none of its readers waits any more.
 * @param given.isPrepared also true if another process has prepared the file
 */
export function sharedPreparation(given: {
  clock: Pick<Clock, 'now'>;
  leases: PreparationLeases | undefined;
  prepare: (file: StoredFile, signal: AbortSignal) => Promise<void>;
  isPrepared: (file: StoredFile, signal: AbortSignal) => Promise<boolean>;
}): (file: StoredFile, signal: AbortSignal) => Promise<void> {
  const running = new Map<string, Shared>();
  const { leases, prepare } = given;
  const start = (file: StoredFile): Shared => {
    const stop = new AbortController();
    const work =
      leases === undefined
        ? prepare(file, stop.signal)
        : prepareWithLease({ ...given, leases }, file, stop.signal);
    const shared = { work, readers: 0, stop };
    running.set(file.uuid, shared);
    return shared;
  };
  return async (file, signal) => {
    const shared = running.get(file.uuid) ?? start(file);
    shared.readers += 1;
    try {
      await untilAborted(shared.work, signal);
    } finally {
      shared.readers -= 1;
      if (shared.readers === 0) {
        running.delete(file.uuid);
        shared.stop.abort();
      }
    }
  };
}

/** Prepares a file, unless another process does so: then it waits for that. */
async function prepareWithLease(
  {
    clock,
    leases,
    prepare,
    isPrepared,
  }: Parameters<typeof sharedPreparation>[0] & { leases: PreparationLeases },
  file: StoredFile,
  signal: AbortSignal,
): Promise<void> {
  let until: number;
  for (;;) {
    const now = clock.now().getTime();
    // The fraction makes each attempt another one.
    until = now + leaseMilliseconds + Math.random();
    if (await leases.takeLease(file, until, now)) break;
    await sleep(checkMilliseconds, undefined, { signal });
    if (await isPrepared(file, signal)) return;
  }
  let isDone = false;
  try {
    await prepare(file, signal);
    isDone = await isPrepared(file, signal);
  } finally {
    // After a success the lease stays until its end: a process that has just found nothing must find the lease.
    if (!isDone) await leases.releaseLease(file, until);
  }
}
