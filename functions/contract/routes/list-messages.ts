import { externalUserId } from '../fields.ts';
import { orderBy } from '../order.ts';
import { pageQuery } from '../pagination.ts';
import { chatPath, defaults, type Route, userHeaders } from './route.ts';

export const route = {
  ...defaults,
  name: 'list-messages',
  method: 'GET',
  path: '/chats/{chat_id}/messages',
  summary: 'Read the history of a chat, oldest message first by default',
  tag: 'Messages',
  rateClass: 'reads',
  transfer: 'streamed',
  // Lambda streams at most 200 MB: the first 6 MB without a limit, then 2 MB a second, about 100 s in all.
  timeoutSeconds: 180,
  parameters: chatPath,
  query: pageQuery.extend({
    external_user_id: externalUserId.optional(),
    order_by: orderBy.default('created_at'),
  }),
  headers: userHeaders,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
