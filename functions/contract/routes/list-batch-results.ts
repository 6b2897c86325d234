import * as z from 'zod';
import { batchResultStatuses } from '../batch-statuses.ts';
import { pageQuery } from '../pagination.ts';
import { batchPath, defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'list-batch-results',
  method: 'GET',
  path: '/batches/{batch_id}/results',
  summary: 'Read the results of a batch, in input order',
  tag: 'Batches',
  rateClass: 'reads',
  transfer: 'streamed',
  timeoutSeconds: 180,
  parameters: batchPath,
  query: pageQuery.extend({ status: z.enum(batchResultStatuses).optional() }),
  failures: ['notFound'],
} as const satisfies Route;
