import * as z from 'zod';
import { batchStatuses } from '../batch-statuses.ts';
import { cursorQuery } from '../pagination.ts';
import { noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'list-batches',
  method: 'GET',
  path: '/batches',
  summary: 'List batches, newest first',
  tag: 'Batches',
  rateClass: 'reads',
  transfer: 'streamed',
  timeoutSeconds: 29,
  parameters: nothing,
  query: cursorQuery.extend({ status: z.enum(batchStatuses).optional() }),
  headers: nothing,
  body: noBody,
  status: 200,
  failures: [],
} as const satisfies Route;
