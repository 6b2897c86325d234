import * as z from 'zod';
import { openAiPaths } from './dialect.ts';
import { defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'get-model',
  method: 'GET',
  ...openAiPaths('/models/{model}'),
  dialect: 'openai',
  summary: 'Read a published agent as a model of OpenAI clients',
  rateClass: 'reads',
  parameters: z.object({ model: z.string() }),
  failures: ['notFound'],
} as const satisfies Route;
