import type { AgentDefinition } from '#contract/agent.ts';
import { ServiceError } from '#contract/errors.ts';
import type { Agent } from './agent.ts';
import type { AgentEditing, Services } from './services.ts';

/**
 * Creates an agent as a draft. It cannot reply until it is published.
 * @throws notFound for an unknown workspace
 */
export async function createAgent(
  services: AgentEditing & Services<'clock' | 'identifiers' | 'workspaces'>,
  input: { workspaceId: string; definition: AgentDefinition },
): Promise<Agent> {
  if ((await services.workspaces.get(input.workspaceId)) === undefined)
    throw new ServiceError('notFound', `Workspace ${input.workspaceId} not found`);
  const now = services.clock.now().toISOString();
  const agent: Agent = {
    id: services.identifiers.uuid(),
    workspaceId: input.workspaceId,
    publishState: 'draft',
    definition: input.definition,
    newestVersion: 0,
    publishedVersionId: null,
    publishedAt: null,
    createdAt: now,
    updatedAt: now,
    revision: 1,
  };
  await services.agents.create(agent);
  return agent;
}
