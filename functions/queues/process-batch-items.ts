import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { QueuedRequests } from '#domain/batches/batch-queue.ts';
import { processBatchItems } from '#domain/batches/process-batch-items.ts';
import {
  agents,
  batchAgentRuntime,
  batchSettings,
  chats,
  fileIndex,
  log,
  messages,
  meter,
  queueServices,
  random,
  rateLimits,
  replyEvents,
  replySettings,
  stageLimits,
  usage,
  workspaces,
} from '#runtime/composition/services.ts';
import { annotateInvocation } from '#runtime/observability/invocation.ts';
import { observed } from '#runtime/observability/observed.ts';

const process = processBatchItems({
  ...queueServices(),
  agentRuntime: batchAgentRuntime(),
  agents: agents(),
  batchSettings: batchSettings(),
  chats: chats(),
  fileIndex: fileIndex(),
  log,
  meter,
  messages: messages(),
  random,
  rateLimits: rateLimits(),
  replyEvents: replyEvents(),
  replySettings: replySettings(),
  stageLimits: stageLimits(),
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
      const message = JSON.parse(body) as QueuedRequests;
      // The queue delivers one message to an invocation.
      annotateInvocation({ workspace_id: message.workspaceId, batch_id: message.batchId });
      const isDone = await process(message, wasDeliveredBefore);
      return isDone ? [] : [{ itemIdentifier: messageId }];
    }),
  );
  return { batchItemFailures: failures.flat() };
});
