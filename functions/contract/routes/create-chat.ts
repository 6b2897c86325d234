import * as z from 'zod';
import { chatName, externalUserId, optional, uuid } from '../fields.ts';
import { idempotencyHeaders } from '../idempotency.ts';
import { nothing, type Route } from './route.ts';

export const route = {
  name: 'create-chat',
  method: 'POST',
  path: '/chats',
  summary: 'Create a chat bound to one agent',
  tag: 'Chats',
  rateClass: 'writes',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: nothing,
  query: nothing,
  headers: idempotencyHeaders,
  body: z
    .object({
      name: chatName,
      agent_id: uuid,
      external_user_id: optional(externalUserId),
    })
    .meta({ id: 'CreateChatRequest' }),
  status: 200,
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
} as const satisfies Route;
