import { route } from '#contract/routes/get-chat.ts';
import { chatResource } from '#domain/chats/chat.ts';
import { findChat } from '#domain/chats/find-chat.ts';
import { chats, workspaces } from '#runtime/composition/services.ts';
import { chatOf, checkUsers } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { chats: chats(), workspaces: workspaces() };
export const handler = lambdaRoute(
  route,
  async (request) => ({ data: chatResource(await findChat(services, await chatOf(request))) }),
  { checkUsers },
);
