import type { PatientCalls } from './batch-calls.ts';
import { BatchSubmissionError, ChatBatchError, type FailedPart, RateLimitError } from './errors.ts';
import type { Batch, BatchRequestItem, BatchResult, CreateBatchRequest } from './schema.ts';
import { onAbort, sleep } from './waiting.ts';

export interface SubmitParams extends Omit<CreateBatchRequest, 'requests'> {
  /** Any number of requests. Each `custom_id` must be unique among all of them. */
  requests: readonly BatchRequestItem[];
}

export interface SubmitProgress {
  total_requests: number;
  completed_requests: number;
  failed_requests: number;
  /** The batches so far, as they were when last read. */
  batches: readonly Batch[];
}

export interface SubmitOptions {
  /** Ends the waiting. The batches continue, unless `cancelOnAbort` is true. */
  signal?: AbortSignal | undefined;
  /** Whether to cancel the batches that have not ended if the signal is aborted or a callback throws. */
  cancelOnAbort?: boolean;
  /** Called after each batch is created, and after each poll. What it throws ends the waiting. */
  onProgress?: (progress: SubmitProgress) => void | Promise<void>;
  /** Called with each result of a batch that has ended. What it throws ends the waiting. */
  onResult?: (result: BatchResult) => void | Promise<void>;
  /** The minimum of milliseconds between polls of a batch, 2,000 by default. */
  pollInterval?: number;
  /**
   * 1 to 245 printable ASCII characters: a second call with the same parameters within 24 hours continues with the same
   * batches.
   */
  idempotencyKey?: string;
}

export interface SubmittedBatches {
  batches: Batch[];
  /** One for each request, in their order. */
  results: BatchResult[];
}

interface Part {
  key: string;
  params: CreateBatchRequest;
  batch?: Batch;
  isCreating?: boolean;
  results: BatchResult[];
  error?: unknown;
}

const batchRequests = 1000;
/**
 * The payload of a function has at most 6 MB, and contains the body as a JSON string with escaped quotes. 64 KiB are
 * for the rest of the payload.
 */
const batchBytes = 6 * 1024 * 1024 - 64 * 1024;
const longestPollInterval = 15_000;
const endedStatuses: readonly string[] = ['completed', 'failed', 'cancelled'];

export async function submitAndWait(
  api: PatientCalls,
  params: SubmitParams,
  options: SubmitOptions,
): Promise<SubmittedBatches> {
  const ending = new AbortController();
  const { signal } = ending;
  const unsubscribe = onAbort(options.signal, () => ending.abort(options.signal?.reason));
  if (options.signal?.aborted === true) ending.abort(options.signal.reason);
  const parts = splitIntoParts(params, options.idempotencyKey ?? crypto.randomUUID());
  const watches: Promise<void>[] = [];
  /** Aborted when the watch of a batch ends, because the service may then accept the next one. */
  let slot = new AbortController();
  for (const part of parts) {
    if (signal.aborted) break;
    try {
      await createBatch(api, part, signal, () => {
        slot = new AbortController();
        return slot.signal;
      });
    } catch (error) {
      part.error = error;
      continue;
    }
    await report(parts, options).catch((error: unknown) => ending.abort(error));
    watches.push(
      watchBatch(api, part, parts, { ...options, signal }, (error) => ending.abort(error))
        .catch((error: unknown) => {
          part.error = error;
        })
        .finally(() => slot.abort()),
    );
  }
  await Promise.all(watches);
  unsubscribe();
  if (signal.aborted) {
    if (options.cancelOnAbort === true) await Promise.all(parts.map((part) => cancelPart(api, part)));
    throw signal.reason;
  }
  return resultOf(parts);
}

function resultOf(parts: readonly Part[]): SubmittedBatches {
  const batches = parts.flatMap(({ batch }) => batch ?? []);
  const results = parts.flatMap((part) => part.results);
  const failures = parts.flatMap(({ params: { requests }, batch, error }): FailedPart[] =>
    error === undefined ? [] : [{ requests, ...(batch !== undefined && { batch }), error }],
  );
  if (failures.length > 0) throw new BatchSubmissionError({ batches, results, failures });
  return { batches, results };
}

function splitIntoParts({ requests, ...params }: SubmitParams, key: string): Part[] {
  // The number of the batch is added to the key, which may then have 255 characters.
  if (!/^[\x20-\x7e]{1,245}$/.test(key))
    throw new ChatBatchError('The idempotency key of a submission has 1 to 245 printable ASCII characters');
  const ids = new Set<string>();
  const parts: BatchRequestItem[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const request of requests) {
    if (ids.has(request.custom_id))
      throw new ChatBatchError(`custom_id ${JSON.stringify(request.custom_id)} is used twice`);
    ids.add(request.custom_id);
    const size = payloadBytes(request);
    const id = JSON.stringify(request.custom_id);
    if (size > batchBytes) throw new ChatBatchError(`The request ${id} is larger than a batch may be`);
    let part = parts.at(-1);
    if (part === undefined || part.length === batchRequests || bytes + size > batchBytes) {
      part = [];
      parts.push(part);
      bytes = 0;
    }
    part.push(request);
    bytes += size;
  }
  return parts.map((part, index) => ({
    key: `${key}-${index}`,
    params: { ...params, requests: part },
    results: [],
  }));
}

const payloadBytes = (request: BatchRequestItem): number =>
  new TextEncoder().encode(JSON.stringify(JSON.stringify(request))).length + 1;

async function createBatch(
  api: PatientCalls,
  part: Part,
  signal: AbortSignal,
  nextSlot: () => AbortSignal,
): Promise<void> {
  for (let attempt = 1; part.batch === undefined; attempt += 1) {
    const slot = nextSlot();
    try {
      part.isCreating = true;
      part.batch = await api.create(part.params, part.key, signal);
    } catch (error) {
      if (!(error instanceof RateLimitError)) throw error;
      part.isCreating = error.mayBeProcessed;
      const either = AbortSignal.any([signal, slot]);
      await sleep(api.delay(attempt, error.retryAfter), either).catch(() => signal.throwIfAborted());
    }
  }
}

async function watchBatch(
  api: PatientCalls,
  part: Part,
  parts: readonly Part[],
  options: SubmitOptions,
  end: (error: unknown) => void,
): Promise<void> {
  const { signal, pollInterval = 2000, onResult } = options;
  const started = Date.now();
  for (;;) {
    const batch = await api.get(part.batch?.id ?? '', signal);
    part.batch = batch;
    await report(parts, options).catch(end);
    if (endedStatuses.includes(batch.status)) break;
    const interval = Math.max(pollInterval, Math.min((Date.now() - started) / 10, longestPollInterval));
    await sleep(interval, signal);
  }
  for await (const result of api.results(part.batch.id, signal)) {
    await Promise.resolve(result).then(onResult).catch(end);
    signal?.throwIfAborted();
    part.results.push(result);
  }
  const { total_requests } = part.batch;
  if (part.results.length !== total_requests)
    throw new ChatBatchError(`Only ${part.results.length} of ${total_requests} results came`);
}

/** If the batch may exist but its id is not known, its creation is repeated with its key, to learn the id. */
async function cancelPart(api: PatientCalls, part: Part): Promise<void> {
  try {
    if (part.isCreating !== true) return;
    const batch = part.batch ?? (await api.create(part.params, part.key));
    if (!endedStatuses.includes(batch.status)) part.batch = await api.cancel(batch.id);
  } catch {
    // For example, the batch has ended, or the service does not respond.
  }
}

async function report(parts: readonly Part[], { onProgress }: SubmitOptions): Promise<void> {
  const batches = parts.flatMap(({ batch }) => batch ?? []);
  const sum = (count: (batch: Batch) => number) => batches.reduce((total, batch) => total + count(batch), 0);
  await onProgress?.({
    total_requests: parts.reduce((total, { params }) => total + params.requests.length, 0),
    completed_requests: sum(({ completed_requests }) => completed_requests),
    failed_requests: sum(({ failed_requests }) => failed_requests),
    batches,
  });
}
