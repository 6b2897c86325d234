import { batchPath, noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'cancel-batch',
  method: 'POST',
  path: '/batches/{batch_id}/cancel',
  summary: 'Cancel a batch that is in progress',
  tag: 'Batches',
  rateClass: 'writes',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: batchPath,
  query: nothing,
  headers: nothing,
  body: noBody,
  status: 202,
  failures: ['notFound'],
} as const satisfies Route;
