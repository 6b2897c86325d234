import type { MessageResource, ReasoningStep } from '#contract/message.ts';
import { clientOf } from './client.ts';
import { dataOf } from './open-tenant.ts';
import { createPublishedAgent, type Service, type Tenant } from './service.ts';
import { createChat, send } from './turns.ts';

/** What a search returns to a model. */
export interface Found {
  results: { text: string; source: Record<string, unknown>; score: number }[];
  note?: string;
}

/** A chat with an agent that uses the demo model and has one tool. */
export async function chatWithTool(
  service: Service,
  tenant: Tenant,
  type: string,
  config: Record<string, unknown> = {},
) {
  const client = clientOf(service, tenant);
  const agentId = await createPublishedAgent(tenant.workspaceId, { unified_tools: [{ type, config }] });
  const chatId = await createChat(client, { agentId });
  const messageOf = (query: string) => `${type} ${JSON.stringify({ query })}`;
  const lastStep = async (): Promise<ReasoningStep> => {
    const newest = `/chats/${chatId}/messages?external_user_id=anyone&order_by=desc&limit=1`;
    const { body } = await client.get<MessageResource[]>(newest);
    const [step, ...others] = body.data[0]?.meta.reasoning_steps ?? [];
    if (step === undefined || others.length > 0) throw new Error('The reply has not one step');
    return step;
  };
  /** @throws Error if the message is rejected or gets no reply */
  const say = async (message: string): Promise<string> =>
    dataOf(await send(client, { agentId }, chatId, message));
  return {
    client,
    chatId,
    agentId,
    say,
    lastStep,
    /** @throws Error if the reasoning step fails */
    async search(query: string): Promise<Found> {
      await say(messageOf(query));
      const { result } = await lastStep();
      if (result?.success !== true) throw new Error(`The step failed: ${JSON.stringify(result)}`);
      return result.data as Found;
    },
  };
}
