import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { QueuedRequests } from '#domain/batches/batch-queue.ts';
import { processBatchItems } from '#domain/batches/process-batch-items.ts';
import {
  agentRuntime,
  agents,
  batches,
  batchQueue,
  batchSettings,
  batchWorkflow,
  chats,
  clock,
  fileIndex,
  log,
  messages,
  meter,
  queueSettings,
  replySettings,
  usage,
  workspaces,
} from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const process = processBatchItems({
  agentRuntime: agentRuntime(),
  agents: agents(),
  batches: batches(),
  batchQueue: batchQueue(),
  batchSettings: batchSettings(),
  batchWorkflow: batchWorkflow(),
  chats: chats(),
  clock,
  fileIndex: fileIndex(),
  log,
  meter,
  messages: messages(),
  queueSettings: queueSettings(),
  replySettings: replySettings(),
  usage: usage(),
  workspaces: workspaces(),
});

/**
 * Processes requests of batches. If some requests of a message were not processed, the queue delivers that message
 * again.
 */
export const handler = observed(async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const failures = await Promise.all(
    Records.map(async ({ messageId, body, attributes }) => {
      const wasDeliveredBefore = Number(attributes.ApproximateReceiveCount) > 1;
      const isDone = await process(JSON.parse(body) as QueuedRequests, wasDeliveredBefore);
      return isDone ? [] : [{ itemIdentifier: messageId }];
    }),
  );
  return { batchItemFailures: failures.flat() };
});
