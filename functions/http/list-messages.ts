import { isAscending } from '#contract/order.ts';
import { route } from '#contract/routes/list-messages.ts';
import { listMessages } from '#domain/chats/list-messages.ts';
import { messageResource } from '#domain/chats/message-resource.ts';
import type { RatedMessage } from '#domain/chats/message-store.ts';
import { checkNamedUsers } from '#domain/workspaces/find-workspace.ts';
import { chats, clock, fileAddresses, messages, workspaces } from '#runtime/composition/services.ts';
import { externalUserOf } from '#runtime/http/external-user.ts';
import { listRoute } from '#runtime/http/list-route.ts';

const resource = messageResource({ clock, files: fileAddresses() });
const list = listMessages({ chats: chats(), messages: messages(), workspaces: workspaces() });

const checkUsers = checkNamedUsers({ workspaces: workspaces() });

export const handler = listRoute(
  route,
  async (request) => {
    const { workspaceId, parameters, query } = request;
    const { total, pages } = await list({
      workspaceId,
      chatId: parameters.chat_id,
      externalUserId: await externalUserOf(request, checkUsers),
      limit: query.limit,
      offset: query.offset,
      ascending: isAscending(query.order_by),
    });
    return { total, pages: resources(parameters.chat_id, pages) };
  },
  { checkUsers },
);

async function* resources(chatId: number, pages: AsyncIterable<RatedMessage[]>) {
  for await (const page of pages) yield await Promise.all(page.map((rated) => resource(chatId, rated)));
}
