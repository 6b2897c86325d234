import { externalUserId, uuid } from '../fields.ts';
import { orderBy } from '../order.ts';
import { cursorQuery } from '../pagination.ts';
import { defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'list-chats',
  method: 'GET',
  path: '/chats',
  summary: 'List chats',
  tag: 'Chats',
  rateClass: 'reads',
  transfer: 'streamed',
  query: cursorQuery.extend({
    order_by: orderBy.default('-created_at'),
    agent_id: uuid.optional(),
    external_user_id: externalUserId.optional(),
  }),
} as const satisfies Route;
