import * as z from 'zod';

export const batchSettings = {
  batchTimeoutSeconds: z
    .int()
    .min(1)
    .max(13 * 86_400, { error: 'must be at most 1,123,200 (13 days): SQS keeps messages for 14 days' })
    .default(86_400)
    .describe(`
      How long a batch may take: one day by default. Requests that have not started by then time out. The
      maximum is 13 days: SQS deletes messages after 14 days, and one day is for messages that are
      requeued shortly before the end.`),

  batchItemSeconds: z
    .int()
    .min(1)
    .max(270)
    .default(240)
    .describe(`
      How long the reply to one request of a batch may take. A worker may run for 300 s; the rest of this
      time is for storing the reply.`),

  batchWorkspaceShare: z
    .number()
    .positive()
    .max(1)
    .default(0.75)
    .describe(`
      The share of the batch workers that one workspace may use. By default a quarter always remains for
      other workspaces; a workspace that is alone takes a third longer because of it.`),
};
