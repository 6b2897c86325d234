import { isAscending } from '#contract/pagination.ts';
import { listChatsRoute } from '#contract/routes/chats.ts';
import { chatResource } from '#domain/chats/chat.ts';
import { chatPages } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/lambda-route.ts';

export const handler = listRoute(listChatsRoute, async ({ workspaceId, query }) => {
  const page = await chatPages().page(
    { workspaceId, agentId: query.agent_id, externalUserId: query.external_user_id },
    { ...query, ascending: isAscending(query.order_by) },
  );
  return { pages: [page.chats.map(chatResource)], total: page.total, ends: page.ends };
});
