import * as z from 'zod';
import { internalAddresses } from './internal-addresses.ts';

export const batchSettings = {
  batchTimeoutSeconds: z
    .int()
    .min(1)
    .max(13 * 86_400, { error: 'must be at most 1,123,200 (13 days): SQS keeps messages for 14 days' })
    .default(86_400)
    .describe(`
      How long a batch may take: one day by default. Requests that have not started by then time out. The
      maximum is 13 days: SQS deletes messages after 14 days.`),

  batchWorkers: z
    .int()
    .min(2)
    .max(1000)
    .optional()
    .meta({
      limits: '2 to 1,000; it must fit into `accountConcurrency`',
      description: `
        Workers that process batches at once, of all workspaces. By default 20, or a fifth of
        \`accountConcurrency\` if that is less: the rest is for clients that wait for a response.`,
    }),

  requestsPerWorker: z
    .int()
    .min(10)
    .max(128)
    .default(25)
    .describe(`
      Requests that one worker processes at once. With fewer than 10, slow replies to the 20 requests that it
      may take would outlast its function. More per worker cost less while replies are slow, and a
      worker that fails interrupts more requests. All workers of a workspace are what its batches use at
      once: by default 15 workers with 25 requests each.`),

  webhookAllow: internalAddresses.describe(`
    Addresses that webhooks may call although they are not public, such as \`127.0.0.1:8080\`. \`*\` is
    every port. One of \`127.0.0.1\` or \`[::1]\` may also have plain HTTP, unless \`production\` is \`true\`,
    so that a receiver on the same machine needs no certificate.`),
};
