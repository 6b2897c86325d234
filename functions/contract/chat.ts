import * as z from 'zod';
import { resourceId, timestamp, uuid } from './fields.ts';

export const erasedUser = z
  .object({ external_user_id: z.string(), status: z.string() })
  .meta({ id: 'ErasedUser' });

export type ErasedUserResource = z.infer<typeof erasedUser>;

/** Specification, section 2.4. `batch_id` is an addition. */
const chatMeta = z
  .object({ external_user_id: z.string().nullable(), conversation_agent_id: uuid, batch_id: uuid.optional() })
  .meta({ id: 'ChatMeta' });

/** Specification, section 2.4. `metadata` is an addition. */
export const chat = z
  .object({
    id: resourceId,
    name: z.string(),
    meta: chatMeta,
    external_user_id: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Chat' });

export const deletedChat = z.object({ id: resourceId, deleted: z.boolean() }).meta({ id: 'DeletedChat' });

export const stoppedReply = z
  .object({ chat_id: resourceId, response_id: z.string(), status: z.enum(['stopped', 'stopping']) })
  .meta({ id: 'StoppedReply' });

export type StoppedReplyResource = z.infer<typeof stoppedReply>;
export type DeletedChatResource = z.infer<typeof deletedChat>;
export type ChatResource = z.infer<typeof chat>;
