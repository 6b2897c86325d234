import type { AgentDefinition } from '#contract/agent.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { Agent } from './agent.ts';
import { findAgent } from './find-agent.ts';
import type { AgentEditing } from './services.ts';

/**
 * Replaces the draft's content. A published version does not change until the agent is published again.
 * @throws notFound `Agent not found`
 */
export const updateAgent =
  (services: AgentEditing & Pick<PlatformServices, 'clock'>) =>
  async (input: { agentId: string; definition: AgentDefinition }): Promise<Agent> => {
    const agent: Agent = {
      ...(await findAgent(services)(input.agentId)),
      definition: input.definition,
      updatedAt: services.clock.now().toISOString(),
    };
    await services.agents.save(agent, 'unchanged');
    return agent;
  };
