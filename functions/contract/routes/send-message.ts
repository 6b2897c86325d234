import * as z from 'zod';
import { attachedFileUuids } from '../attached-files.ts';
import { externalUserId, messageText, optional, uuid, withDefault } from '../fields.ts';
import { idempotencyHeaders } from '../idempotency.ts';
import { limits } from '../limits.ts';
import { chatPath, defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'send-message',
  method: 'POST',
  path: '/chats/{chat_id}/messages',
  summary: 'Send a message and get the reply as an event stream or as JSON',
  description:
    'Idempotency-Key is accepted with "stream": false or "resumable": true, and rejected with any other stream.',
  tag: 'Messages',
  rateClass: 'sends',
  transfer: 'streamed',
  // The last 15 s are to store a reply that was aborted after its whole time: two calls, each with time for some retries.
  timeoutSeconds: limits.replySeconds + 15,
  parameters: chatPath,
  headers: idempotencyHeaders,
  body: z
    .object({
      message: messageText,
      stream: withDefault(z.boolean(), true),
      // Without a default, so that the fingerprints of requests without this field stay the same.
      resumable: optional(z.boolean()).meta({ override: { default: false } }),
      agent_id: uuid,
      attached_file_uuids: attachedFileUuids,
      external_user_id: optional(externalUserId),
    })
    .refine(({ stream, resumable }) => stream || resumable !== true, {
      path: ['resumable'],
      error: 'must be false with "stream": false: only a stream can be resumed',
    })
    .meta({ id: 'SendMessageRequest' }),
  // A message of 256 KiB in which each character is an escape of six bytes has 1.5 MB.
  largestBody: { bytes: 2 * 1024 * 1024, values: 1000 },
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
  serverSentEvents: 'sometimes',
} as const satisfies Route;
