import { createBatchRoute } from '#contract/routes/batches.ts';
import { batchResource } from '#domain/batches/batch.ts';
import { createBatch } from '#domain/batches/create-batch.ts';
import {
  agents,
  batches,
  batchSettings,
  batchWorkflow,
  chats,
  clock,
  fileIndex,
  idempotency,
  lazySecretCipher,
  lazyWebhookSender,
  log,
  replySettings,
  workspaces,
} from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { idempotencyKeyOf, replayHeaders } from '#runtime/http/request.ts';

const services = {
  agents: agents(),
  batches: batches(),
  batchSettings: batchSettings(),
  batchWorkflow: batchWorkflow(),
  chats: chats(),
  clock,
  fileIndex: fileIndex(),
  identifiers,
  log,
  replySettings: replySettings(),
  idempotency: idempotency(),
  secretCipher: lazySecretCipher,
  webhookSender: lazyWebhookSender,
  workspaces: workspaces(),
};

export const handler = lambdaRoute(createBatchRoute, async (request, { takeMore }) => {
  const { workspaceId, apiKeyId, body, limits } = request;
  const key = idempotencyKeyOf(createBatchRoute, request);
  const mostOpen = limits?.openBatches ?? null;
  const { batch, replayed } = await createBatch(
    services,
    { workspaceId, apiKeyId, body },
    { key, mostOpen, takeTokens: takeMore },
  );
  return { data: batchResource(batch), headers: replayHeaders(replayed) };
});
