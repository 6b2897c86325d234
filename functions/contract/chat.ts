import * as z from 'zod';
import { externalUserId, text, timestamp, uuid } from './fields.ts';
import { limits } from './limits.ts';
import { pageQuery } from './pagination.ts';

/** Specification, section 2.4. A chat made without an external user shows null for it. */
export const chat = z
  .object({
    id: z.int(),
    name: z.string(),
    meta: z.object({ external_user_id: z.string().nullable(), conversation_agent_id: uuid }),
    external_user_id: z.string().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Chat' });

export type ChatResource = z.infer<typeof chat>;

export const createChatBody = z.object({
  name: text(limits.chatNameCharacters),
  agent_id: uuid,
  external_user_id: externalUserId.optional(),
});

export const orderBy = z.enum(['created_at', '-created_at', 'asc', 'desc']);
export type OrderBy = z.infer<typeof orderBy>;

/** `asc` and `created_at` say the same, as do `desc` and `-created_at`. */
export const isAscending = (order: OrderBy): boolean => order === 'asc' || order === 'created_at';

export const listChatsQuery = pageQuery.extend({
  order_by: orderBy.default('-created_at'),
  agent_id: uuid.optional(),
  external_user_id: externalUserId.optional(),
});
