import { batchPath, noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'get-batch',
  method: 'GET',
  path: '/batches/{batch_id}',
  summary: 'Read the status of a batch',
  tag: 'Batches',
  rateClass: 'reads',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: batchPath,
  query: nothing,
  headers: nothing,
  body: noBody,
  status: 200,
  failures: ['notFound'],
} as const satisfies Route;
