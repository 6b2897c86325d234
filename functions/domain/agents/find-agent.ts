import { agentNotFound } from '#contract/errors.ts';
import type { Agent } from './agent.ts';
import type { Services } from './services.ts';

/**
 * Finds an agent by its id alone. For operators: they name an agent without its workspace.
 * @throws notFound `Agent not found`
 */
export async function findAgent(services: Services<'agents'>, agentId: string): Promise<Agent> {
  const workspaceId = await services.agents.workspaceOf(agentId);
  const agent = workspaceId === undefined ? undefined : await services.agents.get(workspaceId, agentId);
  if (agent === undefined) throw agentNotFound();
  return agent;
}
