import type { AgentDefinition } from '#contract/agent.ts';
import type { Agent } from './agent.ts';
import { findAgent } from './find-agent.ts';
import type { AgentEditing, Services } from './services.ts';

/**
 * Replaces the draft's content. A published version does not change until the agent is published again.
 * @throws notFound `Agent not found`
 */
export async function updateAgent(
  services: AgentEditing & Services<'clock'>,
  input: { agentId: string; definition: AgentDefinition },
): Promise<Agent> {
  const agent: Agent = {
    ...(await findAgent(services, input.agentId)),
    definition: input.definition,
    updatedAt: services.clock.now().toISOString(),
  };
  await services.agents.save(agent, 'unchanged');
  return agent;
}
