import { getChatRoute } from '#contract/routes/chats.ts';
import { chatResource } from '#domain/chats/chat.ts';
import { findChat } from '#domain/chats/chats.ts';
import { chatServices } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { chatOf, checkUsers } from '#runtime/http/request.ts';

const services = chatServices();

export const handler = lambdaRoute(
  getChatRoute,
  async (request) => ({ data: chatResource(await findChat(services, await chatOf(request))) }),
  { checkUsers },
);
