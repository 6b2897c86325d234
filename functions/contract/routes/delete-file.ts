import * as z from 'zod';
import { uuid } from '../fields.ts';
import { defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'delete-file',
  method: 'DELETE',
  path: '/chats/files/{uuid}',
  summary: 'Delete an uploaded file that no message has',
  description:
    'An addition to the specification. A file that a message has is deleted with the last chat that has it. A request of a batch that names a deleted file fails.',
  tag: 'Files',
  rateClass: 'writes',
  parameters: z.object({ uuid }),
  failures: ['notFound'],
} as const satisfies Route;
