import type { SQSEvent } from 'aws-lambda';
import type { SlotMessage } from '#domain/batches/batch-store.ts';
import { workOnSlot } from '#domain/batches/worker.ts';
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
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { annotateInvocation } from '#runtime/observability/invocation.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = {
  ...queueServices(),
  agentRuntime: batchAgentRuntime(),
  agents: agents(),
  batchSettings: batchSettings(),
  chats: chats(),
  fileIndex: fileIndex(),
  identifiers,
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
