import { chatPath, defaults, type Route, userHeaders, userQuery } from './route.ts';

export const route = {
  ...defaults,
  name: 'delete-chat',
  method: 'DELETE',
  path: '/chats/{chat_id}',
  summary: 'Delete a chat',
  description:
    'An addition to the specification. The chat is gone at once, also for a reply in progress. Files that no other chat attaches are deleted with it. Lists that are paged through meanwhile skip rows.',
  tag: 'Chats',
  rateClass: 'writes',
  parameters: chatPath,
  query: userQuery,
  headers: userHeaders,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
