import * as z from 'zod';
import { limits } from '#contract/limits.ts';
import { openAiPath, openAiPaths } from './dialect.ts';
import { defaults, longBody, pathsOf, type Route, readDefaults } from './route.ts';

export const completeChatRoute = {
  ...defaults,
  name: 'complete-chat',
  method: 'POST',
  ...openAiPaths('/chat/completions'),
  summary: 'Get a reply of an agent, in the form of OpenAI chat completions',
  rateClass: 'sends',
  transfer: 'streamed',
  // As long as send-message.
  timeoutSeconds: limits.replySeconds + 15,
  // The handler checks the fields, because an error of OpenAI names the parameter. z.record would copy up to 60,000
  // fields.
  body: z.custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: 'must be an object' },
  ),
  largestBody: longBody,
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
} as const satisfies Route;

export const getModelRoute = {
  ...readDefaults,
  name: 'get-model',
  ...openAiPaths('/models/{model}'),
  summary: 'Read a published agent as a model of OpenAI clients',
  parameters: z.object({ model: z.string() }),
  failures: ['notFound'],
} as const satisfies Route;

export const listModelsRoute = {
  ...readDefaults,
  name: 'list-models',
  ...openAiPaths('/models'),
  summary: 'List the published agents as models of OpenAI clients',
  transfer: 'streamed',
} as const satisfies Route;

export const rejectOpenaiPathRoute = {
  ...defaults,
  name: 'reject-openai-path',
  method: 'ANY',
  path: `${openAiPath}/{proxy+}`,
  // Known paths too, for their other methods: for a known path, the gateway does not try `{proxy+}`.
  aliases: ['/models', '/models/{model}', '/chat/completions'].flatMap((known) =>
    pathsOf(openAiPaths(known)),
  ),
  dialect: 'openai',
  summary: 'Reject what OpenAI clients request and the service does not have',
  rateClass: 'reads',
  parameters: z.object({ proxy: z.string().optional() }),
  failures: ['notFound'],
} as const satisfies Route;
