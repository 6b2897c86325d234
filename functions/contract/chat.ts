import * as z from 'zod';
import { timestamp, uuid } from './fields.ts';

const externalUserId = z
  .string()
  .nullable()
  .meta({ description: 'null if the chat was created without an external user.' });

/** Specification, section 2.4. */
export const chat = z
  .object({
    id: z.int(),
    name: z.string(),
    meta: z.object({ external_user_id: externalUserId, conversation_agent_id: uuid }),
    external_user_id: externalUserId,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Chat' });

/** The response to a deletion. */
export const deletedChat = z.object({ id: z.int(), deleted: z.literal(true) }).meta({ id: 'DeletedChat' });

/** The response to a stop. */
export const stoppedReply = z
  .object({
    chat_id: z.int(),
    response_id: z.string(),
    status: z.enum(['stopped', 'stopping']).meta({
      description:
        '`stopped`: the chat takes the next message; `stopping`: the reply will end within seconds.',
    }),
  })
  .meta({ id: 'StoppedReply' });

export type StoppedReplyResource = z.infer<typeof stoppedReply>;
export type DeletedChatResource = z.infer<typeof deletedChat>;
export type ChatResource = z.infer<typeof chat>;
