import { isAscending } from '#contract/order.ts';
import { route } from '#contract/routes/list-messages.ts';
import { listMessages } from '#domain/chats/list-messages.ts';
import { messageResource } from '#domain/chats/message-resource.ts';
import type { RatedMessage } from '#domain/chats/message-store.ts';
import { chats, clock, fileAddresses, messages, workspaces } from '#runtime/composition/services.ts';
import { checkUsers, externalUserOf } from '#runtime/http/external-user.ts';
import { listRoute } from '#runtime/http/list-route.ts';

const services = {
  chats: chats(),
  clock,
  files: fileAddresses(),
  messages: messages(),
  workspaces: workspaces(),
};

export const handler = listRoute(
  route,
  async (request) => {
    const { workspaceId, parameters, query } = request;
    const { total, pages } = await listMessages(services, {
      workspaceId,
      chatId: parameters.chat_id,
      externalUserId: await externalUserOf(request),
      limit: query.limit,
      offset: query.offset,
      ascending: isAscending(query.order_by),
    });
    return { total, pages: resources(parameters.chat_id, pages) };
  },
  { checkUsers },
);

async function* resources(chatId: number, pages: AsyncIterable<RatedMessage[]>) {
  for await (const page of pages)
    yield await Promise.all(page.map((rated) => messageResource(services, chatId, rated)));
}
