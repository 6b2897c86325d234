import type { InvocationResult } from '../lambda/invokable-function.ts';

/**
 * The ids of the messages that SQS must redeliver after an invocation.
 * @param reportsItemFailures whether the event source has ReportBatchItemFailures
 */
export function failedMessages(
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

/** The ids in the response; undefined if the response is invalid. An empty response is a success. */
function readFailures(payload: string): unknown[] | undefined {
  let response: unknown;
  try {
    response = JSON.parse(payload || 'null');
  } catch {
    return undefined;
  }
  if (response === null) return [];
  if (typeof response !== 'object') return undefined;
  const { batchItemFailures: failures } = response as { batchItemFailures?: unknown };
  if (failures === undefined || failures === null) return [];
  if (!Array.isArray(failures)) return undefined;
  return failures.map((failure) => (failure as { itemIdentifier?: unknown } | null)?.itemIdentifier);
}
