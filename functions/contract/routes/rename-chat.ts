import * as z from 'zod';
import { chatName, externalUserId, optional } from '../fields.ts';
import { chatPath, defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'rename-chat',
  method: 'PATCH',
  path: '/chats/{chat_id}',
  summary: 'Rename a chat',
  description: 'An addition to the specification.',
  tag: 'Chats',
  rateClass: 'writes',
  parameters: chatPath,
  body: z
    .object({ name: chatName, external_user_id: optional(externalUserId) })
    .meta({ id: 'RenameChatRequest' }),
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
