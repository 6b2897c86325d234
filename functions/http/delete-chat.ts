import type { DeletedChatResource } from '#contract/chat.ts';
import { route } from '#contract/routes/delete-chat.ts';
import { deleteChat } from '#domain/chats/delete-chat.ts';
import { chatDeletion, chats, clock, log, purgeQueue, workspaces } from '#runtime/composition/services.ts';
import { chatOf, checkUsers } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = {
  chatDeletion: chatDeletion(),
  chats: chats(),
  clock,
  log,
  purgeQueue: purgeQueue(),
  workspaces: workspaces(),
};
export const handler = lambdaRoute(
  route,
  async (request, { awaitRateLimit }) => {
    await deleteChat(services, await chatOf(request), awaitRateLimit);
    const data: DeletedChatResource = { id: request.parameters.chat_id, deleted: true };
    return { data };
  },
  { awaitsRateLimit: true, checkUsers },
);
