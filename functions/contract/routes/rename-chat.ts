import * as z from 'zod';
import { chatName, externalUserId, optional } from '../fields.ts';
import { chatPath, nothing, type Route } from './route.ts';

export const route = {
  name: 'rename-chat',
  method: 'PATCH',
  path: '/chats/{chat_id}',
  summary: 'Rename a chat',
  description: 'An addition to the specification.',
  tag: 'Chats',
  rateClass: 'writes',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: chatPath,
  query: nothing,
  headers: nothing,
  body: z
    .object({ name: chatName, external_user_id: optional(externalUserId) })
    .meta({ id: 'RenameChatRequest' }),
  status: 200,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
