import * as z from 'zod';

export const batchSettings = {
  batchTimeoutSeconds: z
    .int()
    .min(1)
    .max(13 * 86_400, { error: 'must be at most 1,123,200 (13 days): SQS keeps messages for 14 days' })
    .default(86_400)
    .describe(`
      How long a batch may take: one day by default. Requests that have not started by then time out. The
      maximum is 13 days: SQS deletes messages after 14 days.`),

  batchItemSeconds: z
    .int()
    .min(1)
    .max(270)
    .default(240)
    .describe(`
      How long the reply to one request of a batch may take. A worker may run for 900 s: it starts
      requests for up to five minutes, and the rest of the time is for the last replies and for outages.`),

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
    .min(1)
    .max(128)
    .default(25)
    .describe(`
      Requests that one worker processes at once. More per worker cost less while replies are slow, and a
      worker that fails interrupts more requests. All workers of a workspace are what its batches use at
      once: by default 15 workers with 25 requests each.`),

  batchWorkspaceShare: z
    .number()
    .positive()
    .max(1)
    .default(0.75)
    .describe(`
      The share of the batch workers that one workspace may use. By default a quarter always remains for
      other workspaces, and for workers that end their last requests.`),
};
