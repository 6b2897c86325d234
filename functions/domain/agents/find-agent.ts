import { agentNotFound } from '#contract/errors.ts';
import type { Agent } from './agent.ts';
import type { AgentServices } from './services.ts';

/**
 * An agent by its id alone, as operators name it.
 * @throws notFound `Agent not found`
 */
export const findAgent =
  (services: Pick<AgentServices, 'agents'>) =>
  async (agentId: string): Promise<Agent> => {
    const workspaceId = await services.agents.workspaceOf(agentId);
    const agent = workspaceId === undefined ? undefined : await services.agents.get(workspaceId, agentId);
    if (agent === undefined) throw agentNotFound();
    return agent;
  };
