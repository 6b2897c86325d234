import { route } from '#contract/routes/get-chat.ts';
import { chatResource } from '#domain/chats/chat.ts';
import { findChat } from '#domain/chats/find-chat.ts';
import { chats, workspaces } from '#runtime/composition/services.ts';
import { checkUsers, externalUserOf } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { chats: chats(), workspaces: workspaces() };
export const handler = lambdaRoute(
  route,
  async (request) => {
    const externalUserId = await externalUserOf(request);
    const { workspaceId, parameters } = request;
    return {
      data: chatResource(
        await findChat(services, { workspaceId, chatId: parameters.chat_id, externalUserId }),
      ),
    };
  },
  { checkUsers },
);
