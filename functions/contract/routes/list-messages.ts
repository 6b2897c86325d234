import { externalUserId } from '../fields.ts';
import { orderBy } from '../order.ts';
import { pageQuery } from '../pagination.ts';
import { chatPath, noBody, type Route, userHeaders } from './route.ts';

export const route = {
  name: 'list-messages',
  method: 'GET',
  path: '/chats/{chat_id}/messages',
  summary: 'Read the history of a chat, oldest message first by default',
  rateClass: 'reads',
  transfer: 'streamed',
  // Lambda streams at most 200 MB: the first 6 MB without a limit, then 2 MB a second, about 100 s in all.
  timeoutSeconds: 180,
  parameters: chatPath,
  query: pageQuery.extend({
    external_user_id: externalUserId.optional().meta({
      description: 'Required here or in the header x-external-user-id.',
    }),
    order_by: orderBy
      .default('created_at')
      .meta({ description: '`created_at` and `asc`: oldest message first.' }),
  }),
  headers: userHeaders,
  body: noBody,
  status: 200,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
