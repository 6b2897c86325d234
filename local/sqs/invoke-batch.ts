import { setTimeout as sleep } from 'node:timers/promises';
import type { InvocationResult } from '../lambda/invokable-function.ts';
import type { BufferedMessage } from './queue-client.ts';
import type { EventSource } from './read-event-source.ts';

/** SQS may deliver a message more than once. */
export type Deliveries = 'once' | 'twice, concurrently' | 'twice, one after the other';

export interface InvokeOptions {
  readonly source: Pick<EventSource, 'target' | 'reportsItemFailures'>;
  readonly visibilitySeconds: number;
  isStopped(): boolean;
  onFailure(line: string): void;
}

// These figures are the runner's own.
const FIRST_BACKOFF_MILLISECONDS = 100;
const MAX_BACKOFF_MILLISECONDS = 10_000;

/** The returned function returns the ids of the messages that failed in every delivery. */
export function createInvokeBatch({ source, visibilitySeconds, isStopped, onFailure }: InvokeOptions) {
  async function deliverOnce(payload: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const result = await invokeWithBackoff(payload);
    if (!result.succeeded && !isStopped()) onFailure(`${result.errorType}: ${result.errorMessage}`);
    return failedMessages(result, ids, source.reportsItemFailures);
  }

  async function invokeWithBackoff(payload: string): Promise<InvocationResult> {
    const visibleAt = performance.now() + visibilitySeconds * 1000;
    let backoff = FIRST_BACKOFF_MILLISECONDS;
    for (;;) {
      const result = await source.target.invoke(payload);
      const isThrottled = !result.succeeded && result.throttle !== undefined;
      if (!isThrottled || isStopped() || performance.now() + backoff >= visibleAt) return result;
      await sleep(backoff, undefined, { ref: false });
      backoff = Math.min(2 * backoff, MAX_BACKOFF_MILLISECONDS);
    }
  }

  return async (batch: readonly BufferedMessage[], deliveries: Deliveries): Promise<ReadonlySet<string>> => {
    const payload = `{"Records":[${batch.map(({ json }) => json).join(',')}]}`;
    const ids = batch.map(({ messageId }) => messageId);
    const deliver = () => deliverOnce(payload, ids);
    if (deliveries === 'once') return await deliver();
    const attempts =
      deliveries === 'twice, concurrently'
        ? await Promise.all([deliver(), deliver()])
        : [await deliver(), await deliver()];
    return new Set(ids.filter((id) => attempts.every((failed) => failed.has(id))));
  };
}

function failedMessages(
  result: InvocationResult,
  batch: readonly string[],
  reportsItemFailures: boolean,
): ReadonlySet<string> {
  const all = new Set(batch);
  if (!result.succeeded) return all;
  if (!reportsItemFailures) return new Set();
  const reported = readFailures(result.payload);
  // As in AWS, an invalid response fails the whole batch.
  return reported?.every((id) => typeof id === 'string' && all.has(id)) ? new Set(reported as string[]) : all;
}

/** The ids are unchecked. Undefined if the response cannot be read; an empty one is a success. */
function readFailures(payload: string): unknown[] | undefined {
  try {
    const response: unknown = JSON.parse(payload || 'null');
    if (typeof response !== 'object') return undefined;
    const { batchItemFailures } = (response ?? {}) as { batchItemFailures?: unknown };
    const failures = batchItemFailures ?? [];
    if (!Array.isArray(failures)) return undefined;
    return failures.map((failure) => (failure as { itemIdentifier?: unknown } | null)?.itemIdentifier);
  } catch {
    return undefined;
  }
}
