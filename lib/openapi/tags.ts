import type { RouteTag } from '#contract/routes/route.ts';

export const tags: readonly { name: RouteTag; description: string }[] = [
  { name: 'Agents', description: 'Agents of the workspace, which reply in chats and batches.' },
  { name: 'Chats', description: 'Chats of users, each with one agent.' },
  {
    name: 'Messages',
    description: 'Messages of chats, and the replies to them as JSON or as streams of events.',
  },
  { name: 'Files', description: 'Files to attach to messages.' },
  { name: 'Feedback', description: 'Feedback of users on replies.' },
  { name: 'Batches', description: 'Batches of messages, which are processed in the background.' },
  { name: 'Users', description: 'External users of the workspace.' },
];
