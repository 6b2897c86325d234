import { agentNotFound } from '#contract/errors.ts';
import type { Services } from '#domain/services.ts';
import type { Agent } from './agent.ts';

/**
 * An agent by its id alone, as operators name it.
 * @throws notFound `Agent not found`
 */
export const findAgent =
  (services: Pick<Services, 'agents'>) =>
  async (agentId: string): Promise<Agent> => {
    const workspaceId = await services.agents.workspaceOf(agentId);
    const agent = workspaceId === undefined ? undefined : await services.agents.get(workspaceId, agentId);
    if (agent === undefined) throw agentNotFound();
    return agent;
  };
