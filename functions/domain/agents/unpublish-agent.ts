import type { Agent } from './agent.ts';
import { findAgent } from './find-agent.ts';
import type { AgentEditing, Services } from './services.ts';

/**
 * Unpublishes the agent: sends fail with `Agent version not found` until it is published again.
 * @throws notFound `Agent not found`
 */
export async function unpublishAgent(
  services: AgentEditing & Services<'clock'>,
  agentId: string,
): Promise<Agent> {
  const agent: Agent = {
    ...(await findAgent(services, agentId)),
    publishState: 'unpublished',
    publishedVersionId: null,
    publishedAt: null,
    updatedAt: services.clock.now().toISOString(),
  };
  await services.agents.save(agent, null);
  return agent;
}
