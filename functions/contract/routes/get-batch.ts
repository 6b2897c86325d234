import { batchPath, defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'get-batch',
  method: 'GET',
  path: '/batches/{batch_id}',
  summary: 'Read the status of a batch',
  tag: 'Batches',
  rateClass: 'reads',
  parameters: batchPath,
  failures: ['notFound'],
} as const satisfies Route;
