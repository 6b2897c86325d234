import * as z from 'zod';
import { openBatchesLimit, rateLimit } from '#contract/rate-limits.ts';

/** Whether some Region allows this `RateLimit` of AWS::Lambda::WebFunctionEndpoint. */
const isWebRate = (rate: number): boolean =>
  rate >= 0 && rate <= 10_000 && rate % (rate > 1000 ? 1000 : 100) === 0;

const rateOf = (text: string, description: string) =>
  rateLimit.prefault(text).meta({
    form: '`COUNT/UNIT:BURST` or `none`',
    limits: 'at most 500 a second, burst at most 10,000 or `COUNT`',
    description,
  });

export const requestLimitSettings = {
  authorizerCacheSeconds: z
    .int()
    .min(0)
    .max(300)
    .default(60)
    .describe(`
      How long the gateway caches the authorizer's response for an API key. A revoked key works that much
      longer. One minute saves nearly all lookups for a busy client. After 300 s, no deletion expects a
      request with a cached key.`),

  rateLimits: z
    .strictObject({
      reads: rateOf(
        '20/s:40',
        'Requests that read. Enough for a screen with several lists and several people.',
      ),
      writes: rateOf(
        '10/s:100',
        `Requests that change something without calling a model: chats, ratings, cancellations. The burst
        of 100 lets an import create 100 chats at once.`,
      ),
      sends: rateOf(
        '5/s:10',
        'Messages. Each calls a model, which costs a thousand times as much as the rest of the request.',
      ),
      uploads: rateOf('2/s:5', 'Uploads of files, each of up to 50 MB.'),
      batches: rateOf('10/m', 'New batches, each of up to 1,000 requests: ten thousand requests a minute.'),
      uploadedMegabytes: rateOf(
        '100000/d',
        'Megabytes of stored uploads: about 100 GB a day, or 20,000 files of 5 MB.',
      ),
      batchRequests: rateOf('100000/d', 'Requests of new batches: a hundred of the largest batches a day.'),
      modelCalls: rateOf(
        '500000/d',
        `Calls of models for messages and batches. Messages at the default rate, all day and with one call each,
        make 432,000.`,
      ),
      downloadedMegabytes: rateOf(
        '100000/d',
        `Megabytes of pages of lists and resumed streams: about 100 GB a day, or 9 dollars of traffic. Pages of 50 KB at the
        default rate, all day, have 86 GB.`,
      ),
      openBatches: z
        .preprocess((value) => (typeof value === 'number' ? String(value) : value), openBatchesLimit)
        .prefault('10')
        .meta({
          form: 'whole number or `none`',
          limits: '1 to 9,999',
          description: `
            Batches of one workspace that may be open at once. Each uses workers and an execution of the
            workflow. \`agentctl workspaces update\` replaces this limit for one workspace.`,
        }),
    })
    .prefault({})
    .describe(`
      Limits of each API key, one for each class of requests or of what they use, and of open batches ([limits.md](limits.md#rate-limits)).
      \`agentctl workspaces update\` replaces a limit for one workspace.`),

  gatewayRequestsPerSecond: z
    .int()
    .min(1)
    .max(10_000)
    .default(1000)
    .describe(`
      Requests a second that the gateway accepts for each route, from all clients together. It is the
      fallback after the limits of API keys, and the only limit for wrong keys, each of which runs the
      authorizer. The default is a tenth of the 10,000 that an account has for all its gateways in a
      Region, so that the others are not affected. Half as many may come at once.`),

  webRequestsPerSecond: z
    .int()
    .refine(isWebRate, {
      error: 'must be 0, a multiple of 100 up to 1000, or a multiple of 1000 up to 10000',
    })
    .default(1000)
    .meta({
      limits: '0, multiples of 100 up to 1,000, multiples of 1,000 up to 10,000',
      description: `
        Requests a second that each endpoint of a web function accepts, from all senders together: as many
        as the gateway accepts for a route. 0 closes the endpoints. No firewall protects them, so this
        setting and \`webEnvironments\` limit what strangers cost. Some Regions accept fewer values, and
        reject the others when the stack is deployed.`,
    }),

  webEnvironments: z
    .int()
    .min(2)
    .max(10_000)
    .default(100)
    .describe(`
      Environments of each endpoint of a web function, each of at most two processors. 100 environments
      take 6,400 messages and 3,200 uploads at once, and use a tenth of the 2,000 processors that an
      account has in a Region. Lambda allows 2 to 10,000, and never more than the account's processors.`),

  requestsPerEnvironment: z
    .int()
    .min(1)
    .max(128)
    .default(64)
    .describe(`
      Messages and new chats that one environment of a web function serves at once; of uploads at most 32.
      Lambda starts another environment for the next one. More per environment cost less, and one that
      fails interrupts more replies.`),
};
