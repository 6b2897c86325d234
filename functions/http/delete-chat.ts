import type { DeletedChatResource } from '#contract/chat.ts';
import { route } from '#contract/routes/delete-chat.ts';
import { deleteChat } from '#domain/chats/delete-chat.ts';
import { chatDeletion, chats, clock, log, purgeQueue, workspaces } from '#runtime/composition/services.ts';
import { checkUsers, externalUserOf } from '#runtime/http/external-user.ts';
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
    const externalUserId = await externalUserOf(request);
    const { workspaceId, parameters } = request;
    await deleteChat(services, { workspaceId, chatId: parameters.chat_id, externalUserId }, awaitRateLimit);
    const data: DeletedChatResource = { id: parameters.chat_id, deleted: true };
    return { data };
  },
  { awaitsRateLimit: true, checkUsers },
);
