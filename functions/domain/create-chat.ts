import { agentNotFound } from '#contract/errors.ts';
import type { Chat } from './chat.ts';
import { findWorkspaceFor } from './find-workspace.ts';
import type { Services } from './services.ts';

/**
 * Creates a chat bound to an agent of the workspace, published or not (specification, section 3.3).
 * @throws clientNotAllowed, then notFound `Agent not found`
 */
export const createChat =
  (services: Pick<Services, 'agents' | 'chats' | 'workspaces'>) =>
  async (input: {
    workspaceId: string;
    agentId: string;
    name: string;
    externalUserId: string | undefined;
    /** Resolves when the request is let in, and rejects when it is not: nothing is written before. */
    admitted: Promise<void>;
  }): Promise<Chat> => {
    const [, agent] = await Promise.all([
      findWorkspaceFor(services)(input.workspaceId, input.externalUserId),
      services.agents.get(input.workspaceId, input.agentId),
    ]);
    if (agent === undefined) throw agentNotFound();
    const { admitted, externalUserId = null, ...chat } = input;
    await admitted;
    return services.chats.create({ ...chat, externalUserId });
  };
