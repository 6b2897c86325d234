import { deleteUnusedChats } from '#domain/erasure/delete-unused-chats.ts';
import { chatDeletion, chatPages, clock, log, purgeQueue, retention } from '#runtime/composition/services.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = {
  chatDeletion: chatDeletion(),
  chatPages: chatPages(),
  clock,
  log,
  purgeQueue: purgeQueue(),
  retention: retention(),
};

export const handler = observed(async (_event: unknown): Promise<void> => {
  const { chats: deleted, failures } = await deleteUnusedChats(services);
  if (deleted > 0) measurements.add('unusedChatsDeleted', deleted, {});
  if (failures > 0) throw new Error(`The unused chats of ${failures} workspaces were not deleted`);
});
