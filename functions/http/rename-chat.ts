import { route } from '#contract/routes/rename-chat.ts';
import { chatResource } from '#domain/chats/chat.ts';
import { renameChat } from '#domain/chats/rename-chat.ts';
import { chats, clock, workspaces } from '#runtime/composition/services.ts';
import { checkUsers } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { chats: chats(), clock, workspaces: workspaces() };

export const handler = lambdaRoute(
  route,
  async ({ workspaceId, parameters, body }, { awaitRateLimit }) => {
    const chat = await renameChat(
      services,
      {
        workspaceId,
        chatId: parameters.chat_id,
        externalUserId: body.external_user_id,
        name: body.name,
      },
      awaitRateLimit,
    );
    return { data: chatResource(chat) };
  },
  { awaitsRateLimit: true, checkUsers },
);
