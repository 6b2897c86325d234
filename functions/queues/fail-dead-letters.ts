import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { QueuedRequests } from '#domain/batches/batch-queue.ts';
import { failBatchItems } from '#domain/batches/fail-batch-items.ts';
import { log, queueServices, replySettings } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const fail = failBatchItems({ ...queueServices(), replySettings: replySettings() });

/** Fails the batch requests of dead letters. */
export const handler = observed(async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const outcomes = await Promise.allSettled(
    Records.map(({ body }) => fail(JSON.parse(body) as QueuedRequests)),
  );
  const failures = outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? [{ record: Records[index], error: outcome.reason as unknown }] : [],
  );
  for (const { error } of failures) log.error('Requests that the queue gave up were not ended', { error });
  return {
    batchItemFailures: failures.map(({ record }) => ({ itemIdentifier: record?.messageId ?? '' })),
  };
});
