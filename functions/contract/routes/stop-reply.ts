import * as z from 'zod';
import { externalUserId, optional } from '../fields.ts';
import { chatPath, defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'stop-reply',
  method: 'POST',
  path: '/chats/{chat_id}/stop',
  summary: 'Stop the reply that is in progress, and keep its text so far',
  description:
    'An addition to the specification. The response is 200 when the chat takes the next message, and 202 if its reply has not ended within two seconds.',
  tag: 'Messages',
  rateClass: 'writes',
  parameters: chatPath,
  body: z
    .object({ external_user_id: optional(externalUserId), response_id: optional(z.string()) })
    .meta({ id: 'StopReplyRequest' }),
  hasOptionalBody: true,
  acceptedStatus: 202,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
