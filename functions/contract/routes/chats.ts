import * as z from 'zod';
import { chatName, externalUserId, optional, uuid } from '#contract/fields.ts';
import { idempotencyHeaders } from '#contract/headers.ts';
import { metadata, metadataChanges } from '#contract/metadata.ts';
import { cursorQuery, orderBy, pageQuery } from '#contract/pagination.ts';
import { chatPath, type Route, readDefaults, userHeaders, userQuery, writeDefaults } from './route.ts';

export const createChatRoute = {
  ...writeDefaults,
  name: 'create-chat',
  method: 'POST',
  path: '/chats',
  summary: 'Create a chat bound to one agent',
  tag: 'Chats',
  headers: idempotencyHeaders,
  body: z
    .object({
      name: chatName,
      agent_id: uuid,
      external_user_id: optional(externalUserId),
      metadata: optional(metadata),
    })
    .meta({ id: 'CreateChatRequest' }),
  failures: ['clientNotAllowed', 'notFound', 'unavailable'],
} as const satisfies Route;

export const getChatRoute = {
  ...readDefaults,
  name: 'get-chat',
  path: '/chats/{chat_id}',
  summary: 'Read one chat',
  description: 'An addition to the specification.',
  tag: 'Chats',
  parameters: chatPath,
  query: userQuery,
  headers: userHeaders,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;

export const listChatsRoute = {
  ...readDefaults,
  name: 'list-chats',
  path: '/chats',
  summary: 'List chats',
  tag: 'Chats',
  transfer: 'streamed',
  query: cursorQuery.extend({
    order_by: orderBy.default('-created_at'),
    agent_id: uuid.optional(),
    external_user_id: externalUserId.optional(),
  }),
} as const satisfies Route;

export const renameChatRoute = {
  ...writeDefaults,
  name: 'rename-chat',
  method: 'PATCH',
  path: '/chats/{chat_id}',
  summary: 'Change the name or the metadata of a chat',
  description: 'An addition to the specification. The request has `name`, `metadata` or both.',
  tag: 'Chats',
  parameters: chatPath,
  body: z
    .object({
      name: optional(chatName),
      external_user_id: optional(externalUserId),
      metadata: optional(metadataChanges),
    })
    .refine(({ name, metadata: changes }) => name !== undefined || changes !== undefined, {
      path: ['name'],
      error: 'or metadata is required',
    })
    .meta({ id: 'RenameChatRequest' }),
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;

export const deleteChatRoute = {
  ...writeDefaults,
  name: 'delete-chat',
  method: 'DELETE',
  path: '/chats/{chat_id}',
  summary: 'Delete a chat',
  description:
    'An addition to the specification. The chat is gone at once, also for a reply in progress. Files that no other chat attaches are deleted with it. Lists that are paged through meanwhile skip rows.',
  tag: 'Chats',
  parameters: chatPath,
  query: userQuery,
  headers: userHeaders,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;

export const listMessagesRoute = {
  ...readDefaults,
  name: 'list-messages',
  path: '/chats/{chat_id}/messages',
  summary: 'Read the history of a chat, oldest message first by default',
  tag: 'Messages',
  transfer: 'streamed',
  // Lambda streams at most 200 MB: the first 6 MB without a limit, then 2 MB a second, about 100 s in all.
  timeoutSeconds: 180,
  parameters: chatPath,
  query: pageQuery.extend({
    external_user_id: externalUserId.optional(),
    order_by: orderBy.default('created_at'),
  }),
  headers: userHeaders,
  failures: ['clientNotAllowed', 'notFound'],
} as const satisfies Route;
