import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { hostAndPort, hostAndPortForm } from '#contract/host-and-port.ts';
import { limits } from '#contract/limits.ts';
import { openBatchesLimit, rateLimit } from '#contract/rate-limits.ts';
import { bedrockModel } from './bedrock-models.ts';
import { unreservedAtLeast } from './concurrency.ts';
import { corsOrigins } from './cors-origins.ts';
import { rollouts } from './rollout-names.ts';

const httpUrl = z.url({ protocol: /^https?$/ });
/** What `RateLimit` of AWS::Lambda::WebFunctionEndpoint may be. */
const isWebRate = (rate: number): boolean =>
  rate >= 0 && rate <= 10_000 && rate % (rate > 1000 ? 1000 : 100) === 0;

const isHostAndPort = (text: string): boolean => hostAndPort.safeParse(text).success;

/** What may differ from one stage to another. */
export const settingsSchema = z.strictObject({
  /** Data is kept when the stack goes and protected from deletion; without it, all data goes with the stack. */
  production: z.boolean().default(true),

  /** The template is checked against CloudFormation's and cdk-nag's rules: 3 s that a stage which is never deployed can save. */
  checkedTemplate: z.boolean().default(true),

  /**
   * How long the gateway believes an answer about an API key: a revoked key works that much longer.
   * One minute spares nearly every look-up of a busy client. 3,600 is API Gateway's limit.
   */
  authorizerCacheSeconds: z.int().min(0).max(3600).default(60),

  /** A model that says nothing for so long has stalled: the 90 s of the interface. */
  streamTimeoutSeconds: z.int().min(1).default(90),

  /**
   * How long a crashed function holds its chat. A lease is renewed at a third of its time,
   * so one of 30 s survives two failed renewals, and one below 3 s would be renewed more than once a second.
   */
  leaseSeconds: z.int().min(3).default(30),

  /** A reply in one piece must leave before CloudFront's read time-out of 120 s, with 10 s to store it. */
  plainReplySeconds: z.int().min(1).max(119).default(110),

  /**
   * The history that a model is given: about 15,000 tokens of English at four characters a token, up to 60,000 of
   * scripts in which a character is one; a model with a smaller window needs a smaller setting.
   */
  historyCharacters: z.int().min(1000).default(60_000),

  /**
   * Files of up to 50 MB, through CloudFront and a Lambda Web Function, which not every Region has yet. Without it the
   * gateway is the address, and an upload has about 4.5 MB.
   */
  largeUploads: z.boolean().default(true),

  /**
   * What each API key may ask for, of each class (contract/routes.ts): COUNT/UNIT:BURST, or none. `agentctl workspaces
   * update` replaces one for a workspace.
   */
  rateLimits: z
    .strictObject({
      /** A screen with several lists that is looked at by several people. */
      reads: rateLimit.prefault('20/s:40'),
      /** What changes without a model being asked: chats, ratings, cancels. A hundred at once, as an import makes chats. */
      writes: rateLimit.prefault('10/s:100'),
      /** Each asks a model, which costs a thousand times what the rest does. */
      sends: rateLimit.prefault('5/s:10'),
      /** Of up to 50 MB. */
      uploads: rateLimit.prefault('2/s:5'),
      /** Of up to 1,000 requests: ten thousand a minute. */
      batches: rateLimit.prefault('10/m'),
    })
    .prefault({}),

  /** Batches that a workspace may have open at once: each holds workers and an execution. A number, or none. */
  openBatches: z
    .preprocess((value) => (typeof value === 'number' ? String(value) : value), openBatchesLimit)
    .prefault('10'),

  /**
   * What the gateway takes of each route, whoever asks: a backstop behind the limits of keys, and all that stands
   * against wrong keys, each of which is an execution of the authorizer. An account has 10,000 requests a second and
   * 5,000 at once for all its gateways in a Region; a tenth of it leaves the rest of them alone.
   */
  gatewayRequestsPerSecond: z.int().min(1).max(10_000).default(1000),
  gatewayBurst: z.int().min(1).max(5000).default(500),

  /** Files that a message may attach. */
  attachedFiles: z.int().min(1).max(limits.attachedFiles).default(limits.attachedFilesDefault),

  /**
   * How long a reply's text may be, in bytes of UTF-8: a megabyte is eight times what the 32,000 tokens of most models
   * can say, and ends one that repeats itself. A page of a batch's results holds 50 replies in memory at once, as text of
   * up to twice as many bytes: 200 MB at the most that can be set.
   */
  replyBytes: z
    .int()
    .min(1000)
    .max(2 * 1024 * 1024)
    .default(1024 * 1024),

  /**
   * Calls of models for one reply: of its agent, of the agents that it calls, of the title, and those that are made
   * again. Six agents that use all 8 calls of their `max_steps` fit; without a limit, agents that call three others in
   * every round make 12,965.
   */
  replyModelCalls: z.int().min(1).default(50),

  /** Uses of tools in one reply: four in each of the seven rounds that an agent has before its answer, and two more. */
  replyToolUses: z.int().min(1).default(30),

  /**
   * Tools of one reply that run at once. Each may hold a page of 5 MB and its text of up to 10 MB: four take up to 60 MB
   * of a function's memory, and are as many pages as an agent compares.
   */
  replyToolsAtOnce: z.int().min(1).default(4),

  /**
   * Requests a second that the endpoint of a web function takes, whoever sends them: as many as the gateway takes of a
   * route. No firewall stands in front of that endpoint, so this and `webEnvironments` bound what strangers cost. 0
   * closes it. Some Regions take fewer values, and refuse the others when the stack is deployed.
   */
  webRequestsPerSecond: z
    .int()
    .refine(isWebRate, {
      error: 'must be 0, a multiple of 100 up to 1000, or a multiple of 1000 up to 10000',
    })
    .default(1000),

  /**
   * Environments that the endpoint of a web function may have, of two processors each: a hundred are a tenth of the
   * 2,000 processors that an account has in a Region, and 3,200 uploads at once. 2 to 10,000 is what Lambda takes.
   */
  webEnvironments: z.int().min(2).max(10_000).default(100),

  /** How long a batch may take; what has not been begun by then has timed out. */
  batchTimeoutSeconds: z
    .int()
    .min(1)
    // SQS deletes messages after 14 days. One day is for those that are sent again shortly before the end.
    .max(13 * 86_400, { error: 'must be at most 1,123,200 (13 days): SQS keeps messages for 14 days' })
    .default(86_400),

  /** How long one request of a batch may take its model: a worker's 300 s, less what storing its reply may take. */
  batchItemSeconds: z.int().min(1).max(270).default(240),

  /**
   * Which share of the workers of batches one workspace may hold: a quarter of them is always left to others, and one
   * workspace alone takes a third longer for it.
   */
  batchWorkspaceShare: z.number().positive().max(1).default(0.75),

  /** Whatever speaks OpenAI's chat completions. */
  openAiBaseUrl: z.url({ protocol: /^https?$/ }).default('https://api.openai.com/v1'),

  /**
   * What agents may name behind `bedrock:`. Roles may invoke these and no other. A role's policies have room for
   * 10,240 characters, the rest of send-message's takes about 2,000, and a profile some 350: 20 fit.
   */
  bedrockModels: z
    .array(
      z
        .string()
        .regex(
          bedrockModel,
          'must be the id of a Bedrock model or inference profile, or an ARN, without wildcards',
        ),
    )
    .max(20)
    .default([]),

  /** Addresses that agents may read pages from although they are not public: HOST:PORT, with * for every port. */
  outboundAllow: z
    .array(z.string().refine(isHostAndPort, { error: `must be ${hostAndPortForm}` }))
    .default([]),

  /** Addresses that webhooks may go to although they are not public: HOST:PORT, with * for every port. */
  webhookAllow: z
    .array(z.string().refine(isHostAndPort, { error: `must be ${hostAndPortForm}` }))
    .default([]),

  /** How long a receiver may take to answer: what most senders of webhooks give; the function that waits has twice that. */
  webhookTimeoutSeconds: z.int().min(1).max(30).default(15),

  /**
   * The waits between the attempts to deliver a webhook, each varied by a tenth: 5 s for a hiccup, 5 and 30 minutes for
   * a deployment, and hours for what needs people. 27.6 hours in all, so that nobody has to get up at night.
   */
  webhookRetrySeconds: z
    .array(
      z
        .number()
        .positive()
        .max(7 * 86_400),
    )
    .min(1)
    .max(20)
    .default([5, 300, 1800, 7200, 18_000, 36_000, 36_000]),

  /** Where agents search the web; without it they have no such tool. */
  webSearch: z
    .discriminatedUnion('provider', [
      z.strictObject({ provider: z.literal('searxng'), url: httpUrl }),
      z.strictObject({
        provider: z.literal('brave'),
        url: httpUrl.default('https://api.search.brave.com/res/v1/web/search'),
      }),
    ])
    .optional(),

  /**
   * Knowledge bases of Amazon Bedrock that agents may search, in this account and Region: roles may query these and no
   * other. Each takes some 80 characters of a role's policies.
   */
  bedrockKnowledgeBases: z
    .array(z.string().regex(/^[0-9A-Z]{10}$/, 'must be an id: ten capital letters and digits'))
    .max(20)
    .default([]),

  /**
   * A domain of one's own, with its certificate: of us-east-1 with `largeUploads`, since CloudFront takes no other, else of
   * the stack's Region. With its zone in Route 53 the record is made too.
   */
  domain: z
    .strictObject({
      name: z.hostname().refine((name) => name.includes('.'), { error: 'must be a full domain name' }),
      certificateArn: z
        .string()
        .regex(
          /^arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate\/[a-z0-9-]+$/,
          'must be the ARN of a certificate',
        ),
      hostedZone: z
        .strictObject({
          id: z.string().regex(/^Z[0-9A-Z]+$/, 'must be the id of a hosted zone'),
          name: z.hostname(),
        })
        .optional(),
    })
    .optional(),

  /**
   * AWS WAF in front: about ten dollars a month, and six more to close the gateway's own address behind a distribution.
   * `count` lets all requests pass and only counts what would be refused, which is how to begin. An address may send
   * 2,000 requests in five minutes: some companies have but one.
   */
  firewall: z
    .strictObject({
      mode: z.enum(['block', 'count']).default('block'),
      requestsInFiveMinutes: z.int().min(10).max(2_000_000_000).default(2000),
    })
    .optional(),

  /** Origins whose pages may call the service from a browser, or `*`. A page shows its API key to all who open it. */
  corsOrigins: corsOrigins.default([]),

  /** Who is told when an alarm goes off. Each address must confirm its subscription once. */
  alarmEmails: z.array(z.email()).default([]),

  /** An alarm goes off when five of a hundred replies begin later: people go away from a screen that does nothing. */
  firstDeltaSeconds: z.number().positive().default(10),

  /**
   * How many functions the account may run at once in its Region, of all stacks: AWS's quota, of which four fifths raise
   * an alarm. 1,000 unless AWS gave it another; new accounts may have 10. Up to 100 nothing can be reserved; above, what
   * the settings below and docs/limits.md claim must fit, and send-message has the rest.
   */
  accountConcurrency: z.int().min(1).default(1000),

  /**
   * Reserved for the authorizer, which all routes share: 1,000 requests a second, of an assumed 0.1 s each, twice. A
   * reservation is a ceiling too, and an unknown key is never cached: beyond it every route is answered with 500.
   */
  authorizerConcurrency: z.int().min(1).default(200),

  /** Left unreserved for all routes but sends, which share it: as the authorizer, since each request needs both. */
  shortRouteConcurrency: z.int().min(1).default(200),

  /** Left unreserved for whatever else the account runs, other stages among it. Lambda insists on 100. */
  otherStacksConcurrency: z.int().min(unreservedAtLeast).default(unreservedAtLeast),

  /** Off where several stages share an account that has no room for reservations of all. */
  reservedConcurrency: z.boolean().default(true),

  /**
   * How new code takes over: a tenth of the calls for five minutes, then all; back when an alarm goes off meanwhile.
   * `AllAtOnce` is done in a moment, and goes back only with a deployment that fails.
   */
  rollout: z.enum(rollouts).default('Canary10Percent5Minutes'),

  /** How long agentctl can tell what was used on a day: a year's figures, and a month to look at them. */
  usageDays: z
    .int()
    .min(1)
    .max(10 * 365)
    .default(400),

  /** What is logged: `WARN` leaves out what went as it should. Metrics are told whatever this says. */
  logLevel: z.enum(['DEBUG', 'INFO', 'WARN', 'ERROR']).default('INFO'),

  /** One month: long enough to look into a complaint, short enough to stay cheap. */
  logRetentionDays: z.enum(RetentionDays).default(RetentionDays.ONE_MONTH),

  /**
   * A function's share of a processor grows with its memory, to a whole one at 1,769 MB. 1,024 MB is 0.58 of one:
   * enough for a cold start to load a bundle, without paying for a processor that waits for a model.
   */
  functionMemoryMegabytes: z.int().min(128).max(10_240).default(1024),
});
