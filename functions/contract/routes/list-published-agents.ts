import { defaults, type Route } from './route.ts';

export const route = {
  ...defaults,
  name: 'list-published-agents',
  method: 'GET',
  path: '/chats/published-agents',
  summary: 'List the published agents of the workspace',
  tag: 'Agents',
  rateClass: 'reads',
  transfer: 'streamed',
} as const satisfies Route;
