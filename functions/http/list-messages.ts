import { isAscending } from '#contract/pagination.ts';
import { listMessagesRoute } from '#contract/routes/chats.ts';
import { listMessages } from '#domain/chats/chats.ts';
import { messageResource } from '#domain/chats/history.ts';
import type { RatedMessage } from '#domain/chats/message.ts';
import { chatServices, fileAddresses, messages } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/lambda-route.ts';
import { chatOf, checkUsers } from '#runtime/http/request.ts';

const services = { ...chatServices(), files: fileAddresses(), messages: messages() };

export const handler = listRoute(
  listMessagesRoute,
  async (request) => {
    const { limit, offset, order_by } = request.query;
    const page = { limit, offset, ascending: isAscending(order_by) };
    const { total, pages } = await listMessages(services, { ...(await chatOf(request)), ...page });
    const resourceOf = (rated: RatedMessage) => messageResource(services, request.parameters.chat_id, rated);
    return { total, pages, resourceOf };
  },
  { checkUsers },
);
