import { chatPath, defaults, type Route, userHeaders, userQuery } from './route.ts';

export const route = {
  ...defaults,
  name: 'get-chat',
  method: 'GET',
  path: '/chats/{chat_id}',
  summary: 'Read one chat',
  description: 'An addition to the specification.',
  tag: 'Chats',
  rateClass: 'reads',
  parameters: chatPath,
  query: userQuery,
  headers: userHeaders,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
