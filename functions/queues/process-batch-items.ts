import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { QueuedRequest } from '#domain/ports/batch-queue.ts';
import { processBatchItems } from '#domain/process-batch-items.ts';
import { observed } from '#runtime/observed.ts';
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
  replySettings,
  usage,
  workspaces,
} from '#runtime/services.ts';

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
  replySettings: replySettings(),
  usage: usage(),
  workspaces: workspaces(),
});

/** Does requests of batches. Those that it could not handle stay in the queue. */
export const handler = observed(async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const delivered = Records.map(({ messageId, body }) => ({
    ...(JSON.parse(body) as QueuedRequest),
    messageId,
  }));
  const failed = await process(delivered);
  const isFailed = ({ batchId, position }: QueuedRequest): boolean =>
    failed.some((request) => request.batchId === batchId && request.position === position);
  return {
    batchItemFailures: delivered.filter(isFailed).map(({ messageId }) => ({ itemIdentifier: messageId })),
  };
});
