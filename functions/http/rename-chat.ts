import { renameChatRoute } from '#contract/routes/chats.ts';
import { chatResource } from '#domain/chats/chat.ts';
import { renameChat } from '#domain/chats/chats.ts';
import { chatServices } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { chatOf, checkUsers } from '#runtime/http/request.ts';

const services = chatServices();

export const handler = lambdaRoute(
  renameChatRoute,
  async (request, { awaitRateLimit }) => {
    const { name, metadata } = request.body;
    const input = { ...(await chatOf(request)), name, metadata };
    const chat = await renameChat(services, input, awaitRateLimit);
    return { data: chatResource(chat) };
  },
  { awaitsRateLimit: true, checkUsers },
);
