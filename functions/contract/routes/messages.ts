import * as z from 'zod';
import {
  externalUserId,
  idParameter,
  integerParameter,
  messageText,
  optional,
  optionalText,
  text,
  uuid,
  withDefault,
} from '#contract/fields.ts';
import { idempotencyHeaders } from '#contract/headers.ts';
import { limits } from '#contract/limits.ts';
import { attachedFileUuids, feedbackType } from '#contract/message.ts';
import { responseFormat } from '#contract/response-format.ts';
import { chatPath, defaults, type Route, readDefaults, userHeaders, writeDefaults } from './route.ts';

export const sendMessageRoute = {
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
  // 15 s are for storing a reply that was aborted after its whole time.
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
      response_format: optional(responseFormat),
    })
    .refine(({ stream, resumable }) => stream || resumable !== true, {
      path: ['resumable'],
      error: 'must be false with "stream": false: only a stream can be resumed',
    })
    .meta({ id: 'SendMessageRequest' }),
  // A message of 256 KiB in which each character is an escape of six bytes has 1.5 MB.
  largestBody: { bytes: 2 * 1024 * 1024, values: 10_000 },
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
  serverSentEvents: 'sometimes',
} as const satisfies Route;

export const stopReplyRoute = {
  ...writeDefaults,
  name: 'stop-reply',
  method: 'POST',
  path: '/chats/{chat_id}/stop',
  summary: 'Stop the reply that is in progress, and keep its text so far',
  description:
    'An addition to the specification. The response is 200 when the chat takes the next message, and 202 if its reply has not ended within two seconds.',
  tag: 'Messages',
  parameters: chatPath,
  body: z
    .object({ external_user_id: optional(externalUserId), response_id: optional(z.string()) })
    .meta({ id: 'StopReplyRequest' }),
  hasOptionalBody: true,
  acceptedStatus: 202,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;

export const resumeStreamRoute = {
  ...readDefaults,
  name: 'resume-stream',
  path: '/chats/{chat_id}/stream',
  summary: 'Resume the stream of a reply that was sent with "resumable": true',
  description: `An addition to the specification. The response has the events after \`starting_after\`, byte for byte, and then those of the running reply. A stream can be resumed for ${limits.resumableMinutes} minutes after its start, any number of times.`,
  tag: 'Messages',
  transfer: 'streamed',
  // 15 minutes, the longest time that Lambda and the gateway allow. The response ends 10 s earlier, because the
  // gateway's time also contains the start of an environment.
  timeoutSeconds: limits.resumedSeconds + 10,
  parameters: chatPath,
  query: z.object({
    response_id: text(limits.responseIdCharacters),
    starting_after: integerParameter(0, limits.sequenceNumberMax).optional(),
    external_user_id: externalUserId.optional(),
  }),
  headers: userHeaders,
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
  serverSentEvents: 'always',
} as const satisfies Route;

export const recordFeedbackRoute = {
  ...writeDefaults,
  name: 'record-feedback',
  method: 'POST',
  path: '/chats/{chat_id}/messages/{message_id}/feedbacks',
  summary: 'Rate a reply',
  description: 'Feedback by the same user on the same message replaces the earlier feedback.',
  tag: 'Feedback',
  parameters: chatPath.extend({ message_id: idParameter }),
  body: z
    .object({
      external_user_id: externalUserId,
      type: feedbackType,
      content: optional(optionalText(limits.feedbackCharacters)),
    })
    .refine((feedback) => feedback.type === 'sys_improve' || !feedback.content, {
      path: ['content'],
      error: 'is only allowed when type is sys_improve',
    })
    .meta({ id: 'RecordFeedbackRequest' }),
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
