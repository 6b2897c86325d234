import { externalUserId, uuid } from '../fields.ts';
import { orderBy } from '../order.ts';
import { cursorQuery } from '../pagination.ts';
import { noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'list-chats',
  method: 'GET',
  path: '/chats',
  summary: 'List chats',
  tag: 'Chats',
  rateClass: 'reads',
  transfer: 'streamed',
  timeoutSeconds: 29,
  parameters: nothing,
  query: cursorQuery.extend({
    order_by: orderBy.default('-created_at'),
    agent_id: uuid.optional(),
    external_user_id: externalUserId.optional(),
  }),
  headers: nothing,
  body: noBody,
  status: 200,
  failures: [],
} as const satisfies Route;
