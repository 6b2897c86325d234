import { openAiPaths } from './dialect.ts';
import { defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'list-models',
  method: 'GET',
  ...openAiPaths('/models'),
  dialect: 'openai',
  summary: 'List the published agents as models of OpenAI clients',
  rateClass: 'reads',
  transfer: 'streamed',
} as const satisfies Route;
