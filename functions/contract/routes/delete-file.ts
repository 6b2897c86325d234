import * as z from 'zod';
import { uuid } from '../fields.ts';
import { noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'delete-file',
  method: 'DELETE',
  path: '/chats/files/{uuid}',
  summary: 'Delete an uploaded file that no message has',
  description:
    'An addition to the specification. A file that a message has is deleted with the last chat that has it. A request of a batch that names a deleted file fails.',
  tag: 'Files',
  rateClass: 'writes',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: z.object({ uuid }),
  query: nothing,
  headers: nothing,
  body: noBody,
  status: 200,
  failures: ['notFound'],
} as const satisfies Route;
