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

export type ChatResource = z.infer<typeof chat>;
