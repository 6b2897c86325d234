import type { SQSEvent } from 'aws-lambda';
import type { SlotMessage } from '#domain/batches/batch-store.ts';
import { workOnSlot } from '#domain/batches/worker.ts';
import {
  batchAgentRuntime,
  batchSettings,
  chats,
  fileIndex,
  log,
  messages,
  queueServices,
  random,
  rateLimits,
  replyEvents,
  replyServices,
  stageLimits,
  usage,
} from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { annotateInvocation } from '#runtime/observability/invocation.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = {
  ...queueServices(),
  ...replyServices(),
  agentRuntime: batchAgentRuntime(),
  batchSettings: batchSettings(),
  chats: chats(),
  fileIndex: fileIndex(),
  identifiers,
  messages: messages(),
  random,
  rateLimits: rateLimits(),
  replyEvents: replyEvents(),
  stageLimits: stageLimits(),
  usage: usage(),
};

/** An error is only logged, because the reconciler replaces lost messages. */
export const handler = observed(async ({ Records }: SQSEvent): Promise<void> => {
  await Promise.all(
    Records.map(async ({ body }) => {
      try {
        const message = JSON.parse(body) as SlotMessage;
        // The queue delivers one message to an invocation.
        annotateInvocation({ workspace_id: message.workspaceId, batch_id: message.batchId });
        await workOnSlot(services, message);
      } catch (error) {
        log.error('A slot of a batch was not worked on', { error });
      }
    }),
  );
});
