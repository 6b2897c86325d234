import { noBody, nothing, type Route } from './route.ts';

export const route = {
  name: 'list-published-agents',
  method: 'GET',
  path: '/chats/published-agents',
  summary: 'List the published agents of the workspace',
  tag: 'Agents',
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
