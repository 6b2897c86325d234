import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { failBatchItem } from '#domain/fail-batch-item.ts';
import type { QueuedRequest } from '#domain/ports/batch-queue.ts';
import { observed } from '#runtime/observed.ts';
import { batches, batchQueue, batchWorkflow, clock, log, replySettings } from '#runtime/services.ts';

const fail = failBatchItem({
  batches: batches(),
  batchQueue: batchQueue(),
  batchWorkflow: batchWorkflow(),
  clock,
  replySettings: replySettings(),
});

/** Ends the requests of batches that the queue has given up. */
export const handler = observed(async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const outcomes = await Promise.allSettled(
    Records.map(({ body }) => fail(JSON.parse(body) as QueuedRequest)),
  );
  const failures = outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? [{ record: Records[index], error: outcome.reason as unknown }] : [],
  );
  for (const { error } of failures) log.error('A request that the queue gave up was not ended', { error });
  return {
    batchItemFailures: failures.map(({ record }) => ({ itemIdentifier: record?.messageId ?? '' })),
  };
});
