import * as z from 'zod';
import { attachedFileUuids } from '../attached-files.ts';
import { externalUserId, messageText, optional, uuid, withDefault } from '../fields.ts';
import { idempotencyHeaders } from '../idempotency.ts';
import { chatPath, nothing, type Route } from './route.ts';

export const route = {
  name: 'send-message',
  method: 'POST',
  path: '/chats/{chat_id}/messages',
  summary: 'Send a message and get the reply, as a stream of events or as one JSON answer',
  description: 'Idempotency-Key is taken with "stream": false, and refused with a stream.',
  rateClass: 'sends',
  transfer: 'streamed',
  // The longest that API Gateway lets a streamed integration run is 15 minutes; five are more than any reply needs.
  timeoutSeconds: 300,
  parameters: chatPath,
  query: nothing,
  headers: idempotencyHeaders,
  body: z.object({
    message: messageText,
    stream: withDefault(z.boolean(), true),
    agent_id: uuid,
    attached_file_uuids: attachedFileUuids,
    external_user_id: optional(externalUserId),
  }),
  status: 200,
  failures: ['clientNotAllowed', 'notFound'],
  serverSentEvents: true,
} as const satisfies Route;
