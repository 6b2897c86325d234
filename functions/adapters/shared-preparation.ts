import { setTimeout as sleep } from 'node:timers/promises';
import type { StandardRetryStrategy } from '@smithy/core/retry';
import { limits } from '#contract/limits.ts';
import type { Preparation, PreparationLeases, StoredFile } from '#domain/files/files.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import type { Clock } from '#domain/platform/services.ts';
import { type OutboundRequest, sendOutbound } from './outbound/send-outbound.ts';
import { preparedJson } from './prepared-attachments.ts';

/** In milliseconds. Files and their texts may have several megabytes. */
const times = { response: 30_000, whole: 30_000 };

/** No error contains a presigned address. */
export function presignedPreparation(retries: StandardRetryStrategy): Preparation {
  const put = async (address: string, body: Uint8Array, contentType: string): Promise<void> => {
    const headers = { 'Content-Type': contentType };
    const { status } = await send(retries, {
      method: 'PUT',
      url: new URL(address),
      headers,
      body,
      maxBytes: errorBytes,
    });
    if (status !== 200) throw failureOf('write', status);
  };
  return {
    async readFile({ file }) {
      const maxBytes = limits.fileBytes;
      const { status, body } = await send(retries, { method: 'GET', url: new URL(file), maxBytes });
      // A missing object gives 404 and not 403, because the caller that has signed the address may list the bucket.
      if (status === 404) return undefined;
      if (status !== 200) throw failureOf('read', status);
      return body;
    },
    putContent: ({ content }, prepared) =>
      put(content, Buffer.from(preparedJson(prepared)), 'application/json'),
    putImage: ({ image }, bytes) => put(image, bytes, 'application/octet-stream'),
  };
}

const errorBytes = 64 * 1024;

const failureOf = (what: 'read' | 'write', status: number): Error =>
  new Error(`S3 responded with ${status} to a presigned ${what}`);

async function send(
  retries: StandardRetryStrategy,
  request: Pick<OutboundRequest, 'method' | 'url' | 'headers' | 'body' | 'maxBytes'>,
): Promise<{ status: number; body: Buffer }> {
  let token = await retries.acquireInitialRetryToken('s3');
  for (;;) {
    let failure: Error;
    try {
      const { signal } = new AbortController();
      const response = await sendOutbound({ ...request, rules: undefined, redirects: 0, times, signal });
      if (response.status < 500 && response.status !== 429) return response;
      failure = failureOf(request.method === 'GET' ? 'read' : 'write', response.status);
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      failure = error;
    }
    token = await retries.refreshRetryTokenForRetry(token, { errorType: 'TRANSIENT' }).catch(() => {
      throw failure;
    });
    await sleep(token.getRetryDelay());
  }
}

/**
 * Longer than the 60 s that the preparing function has. After this time another process can take the lease: its owner
 * may have died, or may still wait.
 */
const leaseMilliseconds = 65_000;

/** Preparing a file usually takes 1.5 s. A check is one write to DynamoDB and one read of S3. */
const checkMilliseconds = 1000;

interface Shared {
  work: Promise<void>;
  readers: number;
  stop: AbortController;
}

/**
 * Concurrent readers of a file share one preparation, whose signal aborts when none waits for it any more. With
 * `leases`, processes share it too.
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

async function prepareWithLease(
  given: Parameters<typeof sharedPreparation>[0] & { leases: PreparationLeases },
  file: StoredFile,
  signal: AbortSignal,
): Promise<void> {
  const { clock, leases, prepare, isPrepared } = given;
  let until: number;
  for (;;) {
    const now = clock.now().getTime();
    // The random fraction distinguishes leases of the same millisecond: `releaseLease` recognizes the lease by the
    // time.
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
    // After a success, the lease stays: a process that has just found no prepared file must not take it.
    if (!isDone) await leases.releaseLease(file, until);
  }
}
