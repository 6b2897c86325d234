import { route } from '#contract/routes/get-chat.ts';
import { chatResource } from '#domain/chats/chat.ts';
import { findChat } from '#domain/chats/find-chat.ts';
import { checkNamedUsers } from '#domain/workspaces/find-workspace.ts';
import { chats, workspaces } from '#runtime/composition/services.ts';
import { externalUserOf } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const find = findChat({ chats: chats(), workspaces: workspaces() });
const checkUsers = checkNamedUsers({ workspaces: workspaces() });

export const handler = lambdaRoute(
  route,
  async (request) => {
    const externalUserId = await externalUserOf(request, checkUsers);
    const { workspaceId, parameters } = request;
    return { data: chatResource(await find({ workspaceId, chatId: parameters.chat_id, externalUserId })) };
  },
  { checkUsers },
);
