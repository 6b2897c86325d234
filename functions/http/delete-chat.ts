import type { DeletedChatResource } from '#contract/chat.ts';
import { deleteChatRoute } from '#contract/routes/chats.ts';
import { deleteChat } from '#domain/chats/chats.ts';
import { chatDeletion, chatServices, log, purgeQueue } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { chatOf, checkUsers } from '#runtime/http/request.ts';

const services = { ...chatServices(), chatDeletion: chatDeletion(), log, purgeQueue: purgeQueue() };
export const handler = lambdaRoute(
  deleteChatRoute,
  async (request, { awaitRateLimit }) => {
    await deleteChat(services, await chatOf(request), awaitRateLimit);
    return { data: { id: request.parameters.chat_id, deleted: true } satisfies DeletedChatResource };
  },
  { awaitsRateLimit: true, checkUsers },
);
