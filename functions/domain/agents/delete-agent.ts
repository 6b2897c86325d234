import { agentNotFound } from '#contract/errors.ts';
import type { Agent } from './agent.ts';
import type { AgentEditing } from './services.ts';

/**
 * Deletes an agent with its versions. Its chats stay, and sends to them fail with `Agent not found`. A further call goes on
 * where an earlier one was stopped.
 * @param check gets the agent before it is deleted; it throws if the agent must stay
 * @throws notFound `Agent not found`
 */
export async function deleteAgent(
  { agents }: AgentEditing,
  agentId: string,
  check: (agent: Agent) => void,
): Promise<void> {
  const workspaceId = await agents.workspaceOf(agentId);
  if (workspaceId === undefined) throw agentNotFound();
  const agent = await agents.get(workspaceId, agentId);
  if (agent !== undefined) check(agent);
  await agents.delete(workspaceId, agentId, agent);
}
