import { batchPath, defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'cancel-batch',
  method: 'POST',
  path: '/batches/{batch_id}/cancel',
  summary: 'Cancel a batch that is in progress',
  tag: 'Batches',
  rateClass: 'writes',
  parameters: batchPath,
  status: 202,
  failures: ['notFound'],
} as const satisfies Route;
