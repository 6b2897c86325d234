import * as z from 'zod';
import { openAiPath, openAiPaths } from './dialect.ts';
import { defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'reject-openai-path',
  method: 'ANY',
  path: `${openAiPath}/{proxy+}`,
  // Also other methods of known paths: for those the gateway does not try a path with a variable.
  aliases: ['/models', '/models/{model}', '/chat/completions'].flatMap((known) => {
    const { path, aliases } = openAiPaths(known);
    return [path, ...aliases];
  }),
  dialect: 'openai',
  summary: 'Reject what OpenAI clients request and the service does not have',
  rateClass: 'reads',
  parameters: z.object({ proxy: z.string().optional() }),
  failures: ['notFound'],
} as const satisfies Route;
