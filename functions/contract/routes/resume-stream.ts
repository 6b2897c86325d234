import * as z from 'zod';
import { externalUserId, integerParameter, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { chatPath, defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'resume-stream',
  method: 'GET',
  path: '/chats/{chat_id}/stream',
  summary: 'Resume the stream of a reply that was sent with "resumable": true',
  description: `An addition to the specification. The response has the events after \`starting_after\`, byte for byte, and then those of the running reply. A stream can be resumed for ${limits.resumableMinutes} minutes after its start, any number of times.`,
  tag: 'Messages',
  rateClass: 'reads',
  transfer: 'streamed',
  // Longer than any reply, so that a slow reader gets all of it. It is the longest that Lambda and the gateway allow. The
  // gateway's time starts earlier: 10 s are the longest start of an environment.
  timeoutSeconds: limits.resumedSeconds + 10,
  parameters: chatPath,
  query: z.object({
    response_id: text(limits.responseIdCharacters),
    starting_after: integerParameter(0, limits.sequenceNumberMax).optional(),
    external_user_id: externalUserId.optional(),
  }),
  headers: z.object({ 'x-external-user-id': externalUserId.optional() }),
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
  serverSentEvents: 'always',
} as const satisfies Route;
