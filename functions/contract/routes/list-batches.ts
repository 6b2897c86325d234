import * as z from 'zod';
import { batchStatuses } from '../batch-statuses.ts';
import { cursorQuery } from '../pagination.ts';
import { defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'list-batches',
  method: 'GET',
  path: '/batches',
  summary: 'List batches, newest first',
  tag: 'Batches',
  rateClass: 'reads',
  transfer: 'streamed',
  query: cursorQuery.extend({ status: z.enum(batchStatuses).optional() }),
} as const satisfies Route;
