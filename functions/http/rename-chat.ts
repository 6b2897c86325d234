import { route } from '#contract/routes/rename-chat.ts';
import { chatResource } from '#domain/chats/chat.ts';
import { renameChat } from '#domain/chats/rename-chat.ts';
import { chats, clock, workspaces } from '#runtime/composition/services.ts';
import { chatOf, checkUsers } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { chats: chats(), clock, workspaces: workspaces() };

export const handler = lambdaRoute(
  route,
  async (request, { awaitRateLimit }) => {
    const input = { ...(await chatOf(request)), name: request.body.name };
    const chat = await renameChat(services, input, awaitRateLimit);
    return { data: chatResource(chat) };
  },
  { awaitsRateLimit: true, checkUsers },
);
