import { batchResource } from '#domain/batch.ts';
import { createBatch } from '#domain/create-batch.ts';
import { bufferedRoute } from '#runtime/buffered-route.ts';
import { identifiers } from '#runtime/identifiers.ts';
import {
  agents,
  batches,
  batchSettings,
  batchWorkflow,
  chats,
  clock,
  fileIndex,
  log,
  replySettings,
  secretSealer,
  webhookSender,
  workspaces,
} from '#runtime/services.ts';

const create = createBatch({
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
  secretSealer: secretSealer(),
  webhookSender: webhookSender(),
  workspaces: workspaces(),
});

export const handler = bufferedRoute('create-batch', async ({ workspaceId, body }) => ({
  data: batchResource(await create(workspaceId, body)),
}));
