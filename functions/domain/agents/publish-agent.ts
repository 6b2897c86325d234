import { ServiceError } from '#contract/errors.ts';
import type { Agent, AgentVersion } from './agent.ts';
import { findAgent } from './find-agent.ts';
import type { AgentEditing, Services } from './services.ts';

/**
 * Publishes the draft's content as the agent's next version.
 * @throws notFound `Agent not found`
 */
export async function publishAgent(
  services: AgentEditing & Services<'clock' | 'identifiers'>,
  agentId: string,
): Promise<AgentVersion> {
  const agent = await findAgent(services, agentId);
  return publish(services, agent, { definition: agent.definition });
}

/**
 * Publishes the content of an earlier version as the agent's next version. The draft stays as it is.
 * @param check gets the version before it is published; it throws if the version must not be
 * @throws notFound for an unknown agent or version; badRequest if the version is the published one
 */
export async function rollBackAgent(
  services: AgentEditing & Services<'clock' | 'identifiers'>,
  agentId: string,
  number: number,
  check: (version: AgentVersion) => void,
): Promise<AgentVersion> {
  const agent = await findAgent(services, agentId);
  const version = await services.agents.version(agent.workspaceId, agentId, number);
  if (version === undefined) throw new ServiceError('notFound', `The agent has no version ${number}`);
  if (version.id === agent.publishedVersionId)
    throw new ServiceError('badRequest', `Version ${number} is the published one`);
  check(version);
  return publish(services, agent, { definition: version.definition, copyOf: number });
}

async function publish(
  { agents, clock, identifiers }: AgentEditing & Services<'clock' | 'identifiers'>,
  agent: Agent,
  content: Pick<AgentVersion, 'definition' | 'copyOf'>,
): Promise<AgentVersion> {
  const now = clock.now().toISOString();
  const version: AgentVersion = {
    id: identifiers.uuid(),
    agentId: agent.id,
    workspaceId: agent.workspaceId,
    number: agent.newestVersion + 1,
    ...content,
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
  await agents.save(published, version);
  return version;
}
