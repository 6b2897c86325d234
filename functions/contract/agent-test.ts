import * as z from 'zod';
import { messageText, uuid } from './fields.ts';
import type { MessageResource } from './message.ts';

/** What an operator invokes the function `test-agent` with. */
export const agentTestRequest = z.object({
  agent_id: uuid,
  message: messageText,
  version: z.enum(['draft', 'published']).default('draft'),
});

export type AgentTestRequest = z.output<typeof agentTestRequest>;

export interface AgentTest {
  agent_id: string;
  /** The number of the published version; null for the draft. */
  version: number | null;
  model: string;
  reply: Pick<MessageResource, 'content' | 'meta'>;
  /** Of a reply that its model has failed: how the provider has responded. */
  provider: string | null;
  /** From the start of the reply to its end. */
  milliseconds: number;
}
