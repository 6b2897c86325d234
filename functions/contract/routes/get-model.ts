import * as z from 'zod';
import { openAiPaths } from './dialect.ts';
import { noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'get-model',
  method: 'GET',
  ...openAiPaths('/models/{model}'),
  dialect: 'openai',
  summary: 'Read a published agent as a model of OpenAI clients',
  rateClass: 'reads',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: z.object({ model: z.string() }),
  query: nothing,
  headers: nothing,
  body: noBody,
  status: 200,
  failures: ['notFound'],
} as const satisfies Route;
