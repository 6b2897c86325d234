import { chatPath, noBody, type Route, userHeaders, userQuery } from './route.ts';

export const route = {
  name: 'get-chat',
  method: 'GET',
  path: '/chats/{chat_id}',
  summary: 'Read one chat',
  description: 'An addition to the specification.',
  tag: 'Chats',
  rateClass: 'reads',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: chatPath,
  query: userQuery,
  headers: userHeaders,
  body: noBody,
  status: 200,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
