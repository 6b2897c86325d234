import * as z from 'zod';
import { limits } from '#contract/limits.ts';
import { functionArn } from '#contract/tools.ts';
import { httpUrlForm, isHttpUrl } from '#contract/urls.ts';
import { bedrockModel } from '../bedrock-models.ts';
import { internalAddresses } from './internal-addresses.ts';

const httpUrl = z
  .string()
  .refine(isHttpUrl, { error: `must be http://HOST or ${httpUrlForm}` })
  .meta({ form: 'URL, `http` or `https`' });

/**
 * The rest of Lambda's 4,096 bytes is for the other variables of `process-batch-items`, with the longest names of
 * resources.
 */
const addressBytes = 2100;

/** Of an endpoint in `OPENAI_ENDPOINTS`, besides its URL and twice its name: JSON and the secret's ARN. */
const endpointBytes = 130;

export type ModelSettings = z.output<z.ZodObject<typeof modelSettings>>;

/** Undefined if the addresses fit. Without endpoints, the other addresses are not checked. */
export function endpointsProblem(settings: ModelSettings): string | undefined {
  const { openAiBaseUrl, openAiEndpoints, outboundAllow, toolAllow, webSearch } = settings;
  const endpoints = Object.entries(openAiEndpoints);
  const others = [openAiBaseUrl, webSearch?.url ?? '', outboundAllow.join(','), toolAllow.join(',')];
  const bytes =
    Buffer.byteLength([...endpoints.flatMap(([name, { url }]) => [name, name, url]), ...others].join('')) +
    endpoints.length * endpointBytes;
  return endpoints.length === 0 || bytes <= addressBytes
    ? undefined
    : `must be fewer endpoints, or shorter ones: with openAiBaseUrl, outboundAllow, toolAllow and webSearch they take ${bytes} bytes ` +
        `of a function's variables, which have room for ${addressBytes}`;
}

export const modelSettings = {
  streamTimeoutSeconds: z
    .int()
    .min(1)
    .default(90)
    .meta({
      limits: `less than ${limits.replySeconds}`,
      description: `
        A reply fails when its model sends nothing for this time: no text, no reasoning, and no piece of a
        tool call. The interface specifies 90 s.`,
    }),

  openAiBaseUrl: httpUrl.default('https://api.openai.com/v1').describe(`
    The API for \`openai:\` models. It can be any service that implements OpenAI's chat completions.`),

  openAiEndpoints: z
    .record(z.string(), z.strictObject({ url: httpUrl }))
    .refine((endpoints) => Object.keys(endpoints).every((name) => /^[a-z][a-zA-Z0-9]{0,19}$/.test(name)), {
      error: 'must have names of a lower-case letter, then letters and digits, of at most 20 characters',
    })
    .refine((endpoints) => Object.keys(endpoints).length <= 10, { error: 'must be at most 10 endpoints' })
    .default({})
    .meta({
      form: 'object of `NAME: {"url": URL}`',
      limits: 'at most 10; a name is a lower-case letter, then letters and digits, at most 20 in all',
      description: `
        Further services with OpenAI's chat completions, for agents with \`openai@NAME:MODEL\`. Each has a key of its own, in
        the secret that the output \`OpenAiEndpoints\` names. Lambda allows 4 KB of variables, so the
        addresses share them with \`outboundAllow\` and \`toolAllow\`. Each takes about 120 characters of a role's policies.`,
    }),

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
    .default([])
    .meta({
      form: 'list of ids or ARNs',
      description: `
        Models and inference profiles that agents may name after \`bedrock:\`. Roles may invoke these and
        no other, so wildcards are not allowed. 20 fit: the policies of a role have 10,240 characters, of
        which send-message needs about 2,000 for the rest, and a profile about 350.`,
    }),

  bedrockKnowledgeBases: z
    .array(z.string().regex(/^[0-9A-Z]{10}$/, 'must be an id: ten capital letters and digits'))
    .max(20)
    .default([])
    .meta({
      form: 'list of ids',
      description: `
        Knowledge bases of Amazon Bedrock that agents may search, in this account and Region. Roles may
        query these and no other. Each takes about 80 characters of a role's policies.`,
    }),

  toolFunctions: z
    .array(functionArn)
    .max(20)
    .default([])
    .meta({
      form: 'list of ARNs',
      description: `
        Lambda functions whose tools agents may have (\`consultant_call_function\`), each with an alias or a version. Roles may
        invoke these and no other. Each takes about 100 characters of a role's policies. A function of another account
        needs a permission of its own for the roles of this stage.`,
    }),

  webSearch: z
    .discriminatedUnion('provider', [
      z.strictObject({
        provider: z.literal('searxng').describe('SearXNG, which needs no key.'),
        url: httpUrl.describe('The address of the instance, which must offer the format `json`.'),
      }),
      z.strictObject({
        provider: z.literal('brave').describe(`
          Brave Search. Put its key into the secret that the output \`BraveApiKeySecretArn\` names.`),
        url: httpUrl
          .default('https://api.search.brave.com/res/v1/web/search')
          .describe('The address of the API.'),
      }),
    ])
    .optional()
    .describe('Where agents search the web. Without it, agents do not have this tool.'),

  outboundAllow: internalAddresses.describe(`
    Addresses that agents may read pages from although they are not public, such as \`wiki.internal:443\`.
    \`*\` is every port.`),

  toolAllow: internalAddresses.describe(`
    Addresses that the remote tools of agents may call although they are not public, such as
    \`crm.internal:443\`; also without TLS, and with a secret. The model of an agent never chooses the address of a remote
    tool, so pages at these addresses stay out of reach: \`outboundAllow\` is for them.`),
};
