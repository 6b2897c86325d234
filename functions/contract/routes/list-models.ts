import { openAiPaths } from './dialect.ts';
import { noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'list-models',
  method: 'GET',
  ...openAiPaths('/models'),
  dialect: 'openai',
  summary: 'List the published agents as models of OpenAI clients',
  rateClass: 'reads',
  transfer: 'streamed',
  timeoutSeconds: 29,
  parameters: nothing,
  query: nothing,
  headers: nothing,
  body: noBody,
  status: 200,
  failures: [],
} as const satisfies Route;
