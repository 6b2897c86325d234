import * as z from 'zod';
import { internalAddresses } from './internal-addresses.ts';

export const webhookSettings = {
  webhookAllow: internalAddresses.describe(`
    Addresses that webhooks may call although they are not public, such as \`127.0.0.1:8080\`. \`*\` is
    every port.`),

  webhookPlainLoopback: z
    .boolean()
    .default(false)
    .meta({
      limits: '`false` if `production` is `true`',
      description: `
        Webhooks may call \`http://127.0.0.1:PORT\` and \`http://[::1]:PORT\`: exactly these addresses, and no host
        name. Every other webhook must be HTTPS. On in the stage \`local\`, so that a
        receiver on the same machine needs no certificate.`,
    }),

  webhookTimeoutSeconds: z
    .int()
    .min(1)
    .max(30)
    .default(15)
    .describe(`
      How long a receiver may take to respond: as long as most senders of webhooks allow. The maximum is
      half of the 60 s that the calling function may run.`),

  webhookRetrySeconds: z
    .array(
      z
        .number()
        .positive()
        .max(7 * 86_400),
    )
    .min(1)
    .max(20)
    .default([5, 300, 1800, 7200, 18_000, 36_000, 36_000])
    .describe(`
      Waits between the attempts to deliver a webhook, each varied by a tenth. 5 s are for a short
      failure, 5 and 30 minutes for a deployment, and hours for what needs people. All waits together are
      27.6 hours, so that nobody has to get up at night.`),
};
