import { uuid } from '#contract/fields.ts';
import type { OpenAiModel } from '#contract/openai/model.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Services } from './services.ts';

/** The published agent with this id; undefined also for a text that is no id. */
export async function findModel(
  services: Services<'agents'>,
  workspaceId: string,
  model: string,
): Promise<AgentVersion | undefined> {
  const id = uuid.safeParse(model);
  return id.success ? services.agents.published(workspaceId, id.data) : undefined;
}

/** An agent as a model. Only its id names it, because clients choose their behaviour by names of models. */
export const modelResource = (agent: AgentVersion): OpenAiModel => ({
  id: agent.agentId,
  object: 'model',
  created: Math.floor(Date.parse(agent.agentCreatedAt) / 1000),
  owned_by: agent.workspaceId,
  name: agent.definition.name,
  description: agent.definition.description,
});
