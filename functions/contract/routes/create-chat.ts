import * as z from 'zod';
import { chatName, externalUserId, optional, uuid } from '../fields.ts';
import { idempotencyHeaders } from '../idempotency.ts';
import { defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'create-chat',
  method: 'POST',
  path: '/chats',
  summary: 'Create a chat bound to one agent',
  tag: 'Chats',
  rateClass: 'writes',
  headers: idempotencyHeaders,
  body: z
    .object({ name: chatName, agent_id: uuid, external_user_id: optional(externalUserId) })
    .meta({ id: 'CreateChatRequest' }),
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
} as const satisfies Route;
