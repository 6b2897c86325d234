import type { PlatformServices } from '#domain/platform/services.ts';
import type { Agent, AgentVersion } from './agent.ts';
import { findAgent } from './find-agent.ts';
import type { AgentEditing } from './services.ts';

/**
 * Publishes the draft's content as the agent's next version.
 * @throws notFound `Agent not found`
 */
export const publishAgent =
  (services: AgentEditing & Pick<PlatformServices, 'clock' | 'identifiers'>) =>
  async (agentId: string): Promise<AgentVersion> => {
    const agent = await findAgent(services)(agentId);
    const now = services.clock.now().toISOString();
    const version: AgentVersion = {
      id: services.identifiers.uuid(),
      agentId: agent.id,
      workspaceId: agent.workspaceId,
      number: agent.newestVersion + 1,
      definition: agent.definition,
      publishedAt: now,
      agentCreatedAt: agent.createdAt,
    };
    const published: Agent = {
      ...agent,
      publishState: 'published',
      newestVersion: version.number,
      publishedVersionId: version.id,
      publishedAt: now,
      updatedAt: now,
    };
    await services.agents.save(published, version);
    return version;
  };
