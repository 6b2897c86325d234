import { setTimeout as sleep } from 'node:timers/promises';
import { InvokeCommand, type InvokeCommandOutput, type LambdaClient } from '@aws-sdk/client-lambda';
import * as z from 'zod';
import type {
  AttachmentContent,
  AttachmentReader,
  FileStore,
  PreparationAddresses,
  PreparationLeases,
  PreparedAttachments,
  StoredFile,
  TextBounds,
} from '#domain/files/files.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import { recentlyUsed } from '#domain/platform/recently-used.ts';
import { type Clock, isExpired } from '#domain/platform/services.ts';
import type { Shares } from '#domain/platform/shares.ts';
import { startOfText } from './prepared-attachments.ts';

const cachedBytes = 20 * 1024 * 1024;

// For retries while Lambda throttles the function that prepares files: its concurrency is limited.
const firstBackoffMilliseconds = 500;
const longestBackoffMilliseconds = 5000;

const gone: AttachmentContent = { type: 'unreadable', reason: 'is no longer there' };

interface ReaderServices {
  clock: Pick<Clock, 'now'>;
  files: FileStore;
  prepared: PreparedAttachments;
  shares: Pick<Shares, 'wait'>;
  /** For batches: several of their processes may need the same new file. */
  leases?: PreparationLeases | undefined;
}

/**
 * Another Lambda function prepares the files, because a hostile file may exhaust its time and memory.
 */
export function attachmentReader(
  { clock, files, prepared, leases, shares }: ReaderServices,
  lambda: LambdaClient,
  functionName: () => string,
): AttachmentReader {
  const cache = recentlyUsed<Cached>(cachedBytes);
  /** An earlier release of the function reads `uuid` and `workspaceId`. The present one logs `workspaceId`. */
  const eventOf = async (file: StoredFile): Promise<string> => {
    const { uuid, workspaceId, name, contentType } = file;
    const [address, results] = await Promise.all([files.readAddress(file), prepared.writeAddresses(file)]);
    const addresses: PreparationAddresses = { file: address, ...results };
    return JSON.stringify({ uuid, workspaceId, name, contentType, addresses });
  };

  // The addresses are signed again after each wait, because throttling may last for minutes.
  const invoke = (file: StoredFile, signal: AbortSignal): Promise<InvokeCommandOutput> =>
    whileThrottled(signal, async () =>
      lambda.send(new InvokeCommand({ FunctionName: functionName(), Payload: await eventOf(file) }), {
        abortSignal: signal,
      }),
    );

  const isPrepared = async (file: StoredFile, signal: AbortSignal): Promise<boolean> =>
    (await prepared.get(file, { whole: 0, start: 0 }, signal)) !== undefined;

  const prepare: Prepare = async (file, signal) => {
    const leave = await shares.wait('preparations', file.workspaceId, signal);
    // The lease may end during this wait. Then another process may have prepared the file.
    const isDone = leases !== undefined && (await isPrepared(file, signal).catch(() => false));
    if (isDone) return leave();
    const response = await invoke(file, signal).finally(leave);
    if (response.FunctionError === undefined) return;
    const failed = failure.parse(JSON.parse(response.Payload?.transformToString() ?? ''));
    const reason = permanentFailureOf(failed);
    if (reason === undefined)
      throw new Error(`A file was not prepared: ${failed.errorType}: ${failed.errorMessage}`);
    await prepared.put(file, { type: 'unreadable', reason });
  };

  const prepareOnce = sharedPreparation(
    leases === undefined ? prepare : withLease({ clock, leases, prepare, isPrepared }),
  );

  const load = async (
    file: StoredFile,
    bounds: TextBounds,
    signal: AbortSignal,
  ): Promise<AttachmentContent> => {
    let found = await prepared.get(file, bounds, signal);
    if (found === undefined) {
      await prepareOnce(file, signal);
      found = await prepared.get(file, bounds, signal);
    }
    if (found === undefined) return gone;
    if (found.type !== 'image') return found;
    const { fitted, ...image } = found;
    const bytes = fitted ? await prepared.getImage(file) : await originalOf(files, file);
    return bytes === undefined ? gone : { ...image, bytes };
  };

  return {
    async read(file, bounds, signal) {
      signal.throwIfAborted();
      // The prepared content may outlive the file.
      if (isExpired(file.expiresAt, clock.now())) return gone;
      const known = cache.get(file.uuid);
      const served = known && within(known, bounds);
      if (served !== undefined) return served;
      const content = await untilAborted(load(file, bounds, signal), signal);
      cache.set(file.uuid, { content, bounds }, sizeOf(content));
      return content;
    },
  };
}

async function whileThrottled<Result>(signal: AbortSignal, call: () => Promise<Result>): Promise<Result> {
  for (let backoff = firstBackoffMilliseconds; ; backoff = Math.min(2 * backoff, longestBackoffMilliseconds))
    try {
      return await call();
    } catch (error) {
      if (!isThrottled(error)) throw error;
      await sleep(Math.random() * backoff, undefined, { signal });
    }
}

const isThrottled = (error: unknown): boolean =>
  error instanceof Error && error.name === 'TooManyRequestsException';

interface Cached {
  content: AttachmentContent;
  bounds: TextBounds;
}

function within({ content, bounds }: Cached, requested: TextBounds): AttachmentContent | undefined {
  if (content.type === 'text') {
    const characters = content.text.length;
    if (characters <= requested.whole) return content;
    const { pageOffsets: _, ...text } = content;
    return { ...text, type: 'beginning', text: startOfText(content.text, requested.start), characters };
  }
  if (content.type !== 'beginning') return content;
  const isTooLong = requested.whole < (content.characters ?? bounds.whole + 1);
  if (!isTooLong || requested.start > bounds.start) return undefined;
  return { ...content, text: startOfText(content.text, requested.start) };
}

const failure = z.object({ errorType: z.string(), errorMessage: z.string() });

/** Undefined for failures that may be temporary, such as an unavailable bucket. */
function permanentFailureOf({ errorType, errorMessage }: z.output<typeof failure>): string | undefined {
  const seconds = /Task timed out after (\d{1,3})\b/.exec(errorMessage)?.[1];
  if (seconds !== undefined) return `takes longer than ${seconds} s to read`;
  if (errorType === 'Sandbox.Timedout') return 'takes too long to read';
  // Lambda reports "Runtime exited with error" if the process has ended early, as when it runs out of memory.
  if (errorType === 'Runtime.OutOfMemory' || errorMessage.includes('Runtime exited with error'))
    return 'takes too much memory to read';
  return undefined;
}

async function originalOf(files: FileStore, file: StoredFile): Promise<Uint8Array | undefined> {
  const stored = await files.read(file);
  return stored && Buffer.concat(await Array.fromAsync(stored));
}

const sizeOf = (content: AttachmentContent): number =>
  'text' in content ? content.text.length * 2 : content.type === 'image' ? content.bytes.length : 0;

/**
 * Longer than the 60 s that the preparing function has. After this time another process can take the lease: its owner
 * may have died, or may still wait.
 */
const leaseMilliseconds = 65_000;

/** Preparing a file usually takes 1.5 s. A check is one write to DynamoDB and one read of S3. */
const checkMilliseconds = 1000;

type Prepare = (file: StoredFile, signal: AbortSignal) => Promise<void>;

/** Concurrent readers of a file share one preparation, whose signal aborts when none waits for it any more. */
function sharedPreparation(prepare: Prepare): Prepare {
  const running = new Map<string, { work: Promise<void>; readers: number; stop: AbortController }>();
  const start = (file: StoredFile) => {
    const stop = new AbortController();
    const shared = { work: prepare(file, stop.signal), readers: 0, stop };
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

interface Leased extends Pick<ReaderServices, 'clock'> {
  leases: PreparationLeases;
  prepare: Prepare;
  isPrepared: (file: StoredFile, signal: AbortSignal) => Promise<boolean>;
}

/** Processes share a preparation too. */
const withLease =
  ({ clock, leases, prepare, isPrepared }: Leased): Prepare =>
  async (file, signal) => {
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
  };
