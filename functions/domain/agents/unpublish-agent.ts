import type { Services } from '#domain/services.ts';
import type { Agent } from './agent.ts';
import { findAgent } from './find-agent.ts';

/** Takes the agent's published version away: sends are answered `Agent version not found` until it is published again. */
export const unpublishAgent =
  (services: Pick<Services, 'agents' | 'clock'>) =>
  async (agentId: string): Promise<Agent> => {
    const agent: Agent = {
      ...(await findAgent(services)(agentId)),
      publishState: 'unpublished',
      publishedVersionId: null,
      publishedAt: null,
      updatedAt: services.clock.now().toISOString(),
    };
    await services.agents.save(agent, null);
    return agent;
  };
