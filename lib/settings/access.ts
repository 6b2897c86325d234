import * as z from 'zod';

const isOrigin = (text: string): boolean =>
  text === '*' ||
  (/^https?:\/\/[a-z0-9.:[\]-]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text);

const corsOrigins = z
  .array(
    z.string().refine(isOrigin, {
      error: 'must be * or an origin as browsers send it, such as https://app.example.com',
    }),
  )
  .refine((origins) => origins.length < 2 || !origins.includes('*'), {
    error: 'must be * alone, or origins',
  });

export const accessSettings = {
  webFunctions: z
    .enum(['all', 'uploads', 'none'])
    .default('all')
    .describe(`
      What Lambda Web Functions serve, which not every Region has yet: many requests share an environment,
      and a reply that waits for its model takes no processor. With \`all\`, messages, new chats and uploads. With \`uploads\`, uploads
      alone, of up to 50 MB. With \`none\` there is no CloudFront distribution: clients use the gateway's
      own address, and an upload has about 4.5 MB. A change to or from \`none\` changes the base address.`),

  bothEntryPoints: z
    .boolean()
    .default(false)
    .describe(`
      Deploys the web function of messages and the Lambda functions for the same routes, whichever the
      gateway calls. Only for a change between \`all\` and \`uploads\`, so that replies in progress end
      ([deploy.md](deploy.md#web-functions)).`),

  originSecretGeneration: z
    .int()
    .min(1)
    .max(9999)
    .default(1)
    .describe(`
      The generation of the secret that the distribution sends to its origins. A deployment with the next
      number rotates the secret. Raise or lower it by one in each deployment, because the origins accept
      the generation before and the one after as well, and no others.`),

  domain: z
    .strictObject({
      name: z
        .hostname()
        .refine((name) => name.includes('.'), { error: 'must be a full domain name' })
        .describe('The full domain name, such as `agents.example.com`.'),
      certificateArn: z
        .string()
        .regex(
          /^arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate\/[a-z0-9-]+$/,
          'must be the ARN of a certificate',
        )
        .meta({
          form: 'ARN',
          description: `
            The certificate of the domain. With a distribution (\`webFunctions\`) it must be in
            us-east-1, because CloudFront accepts no other; else in the Region of the stack.`,
        }),
      hostedZone: z
        .strictObject({
          id: z
            .string()
            .regex(/^Z[0-9A-Z]+$/, 'must be the id of a hosted zone')
            .describe('The id of the zone, such as `Z0123456789ABC`.'),
          name: z.hostname().describe('The name of the zone: the domain itself or a parent of it.'),
        })
        .optional()
        .describe(`
          The zone of the domain in Route 53. With it, the stack also creates the DNS records; without it,
          they are yours to create.`),
    })
    .optional()
    .describe('A custom domain for the service. Without it, clients use the address that AWS assigns.'),

  firewall: z
    .strictObject({
      mode: z
        .enum(['block', 'count'])
        .default('block')
        .describe(`
          \`count\` lets all requests pass and only counts those that \`block\` would reject. Start with
          \`count\`.`),
      requestsInFiveMinutes: z
        .int()
        .min(10)
        .max(2_000_000_000)
        .default(2000)
        .describe(`
          Requests that one IP address may send in five minutes. The limit is this high because all people
          in some companies share one address.`),
    })
    .optional()
    .describe(`
      AWS WAF in front of the service. It costs about 10 dollars a month, and with a distribution 6
      more, which close the gateway's own address, so that requests cannot bypass the distribution.`),

  corsOrigins: corsOrigins.default([]).meta({
    form: 'list of origins',
    limits: 'origins or `*` alone; without a distribution at most 1',
    description: `
      Origins whose pages may call the service from a browser, such as \`https://app.example.com\`; \`*\`
      is every origin. None by default, because a page shows its API key to everybody who opens it.`,
  }),
};
