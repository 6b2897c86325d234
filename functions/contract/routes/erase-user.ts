import * as z from 'zod';
import { externalUserId } from '../fields.ts';
import { noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'erase-user',
  method: 'DELETE',
  path: '/users',
  summary: 'Erase a user',
  description:
    "An addition to the specification. Erases an external user of the key's workspace: its chats with messages and files, its feedback, and the texts of its requests in batches. Its entry in the whitelist stays, which is the operator's. Any key of the workspace may do so. A repeated request also erases what the user has done since.",
  tag: 'Users',
  rateClass: 'writes',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: nothing,
  query: z.object({ external_user_id: externalUserId }),
  headers: nothing,
  body: noBody,
  status: 202,
  failures: [],
} as const satisfies Route;
