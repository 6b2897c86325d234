import * as z from 'zod';
import { externalUserId } from '#contract/fields.ts';
import { type Route, readDefaults, writeDefaults } from './route.ts';

export const eraseUserRoute = {
  ...writeDefaults,
  name: 'erase-user',
  method: 'DELETE',
  path: '/users',
  summary: 'Erase a user',
  description:
    "An addition to the specification. Erases an external user of the key's workspace: its chats with messages and files, its feedback, and the texts of its requests in batches. Its entry in the whitelist stays, which is the operator's. Any key of the workspace may do so. A repeated request also erases what the user has done since.",
  tag: 'Users',
  query: z.object({ external_user_id: externalUserId }),
  status: 202,
} as const satisfies Route;

export const listPublishedAgentsRoute = {
  ...readDefaults,
  name: 'list-published-agents',
  path: '/chats/published-agents',
  summary: 'List the published agents of the workspace',
  tag: 'Agents',
  transfer: 'streamed',
} as const satisfies Route;
