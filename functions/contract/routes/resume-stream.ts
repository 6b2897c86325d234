import * as z from 'zod';
import { externalUserId, integerParameter, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { chatPath, noBody, type Route } from './route.ts';

export const route = {
  name: 'resume-stream',
  method: 'GET',
  path: '/chats/{chat_id}/stream',
  summary: 'Resume the stream of a reply that was sent with "resumable": true',
  description: `An addition to the specification. The response has the events after \`starting_after\`, byte for byte, and then those of the running reply. A stream can be resumed for ${limits.resumableMinutes} minutes after its start, any number of times.`,
  rateClass: 'reads',
  transfer: 'streamed',
  // Longer than any reply, so that a slow reader gets all of it. It is the longest that Lambda and the gateway allow.
  timeoutSeconds: 900,
  parameters: chatPath,
  query: z.object({
    response_id: text(limits.responseIdCharacters).meta({
      description: 'The `response_id` of the events of the reply.',
    }),
    starting_after: integerParameter(0, limits.sequenceNumberMax).optional().meta({
      description: 'The `sequence_number` of the last event that the client has. All events without it.',
    }),
    external_user_id: externalUserId.optional().meta({
      description:
        'Of the user that the chat belongs to. It may be in the header x-external-user-id instead.',
    }),
  }),
  headers: z.object({ 'x-external-user-id': externalUserId.optional() }),
  body: noBody,
  status: 200,
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
  serverSentEvents: 'always',
} as const satisfies Route;
