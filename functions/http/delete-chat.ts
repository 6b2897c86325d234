import type { DeletedChatResource } from '#contract/chat.ts';
import { route } from '#contract/routes/delete-chat.ts';
import { deleteChat } from '#domain/chats/delete-chat.ts';
import { checkNamedUsers } from '#domain/workspaces/find-workspace.ts';
import { chatDeletion, chats, clock, log, purgeQueue, workspaces } from '#runtime/composition/services.ts';
import { externalUserOf } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const deleteOne = deleteChat({
  chatDeletion: chatDeletion(),
  chats: chats(),
  clock,
  log,
  purgeQueue: purgeQueue(),
  workspaces: workspaces(),
});
const checkUsers = checkNamedUsers({ workspaces: workspaces() });

export const handler = lambdaRoute(
  route,
  async (request, { awaitRateLimit }) => {
    const externalUserId = await externalUserOf(request, checkUsers);
    const { workspaceId, parameters } = request;
    await deleteOne({ workspaceId, chatId: parameters.chat_id, externalUserId }, awaitRateLimit);
    const data: DeletedChatResource = { id: parameters.chat_id, deleted: true };
    return { data };
  },
  { awaitsRateLimit: true, checkUsers },
);
