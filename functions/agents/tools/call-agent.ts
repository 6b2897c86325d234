import * as z from 'zod';
import { uuid } from '#contract/fields.ts';
import type { AgentStore } from '#domain/agents/agent.ts';
import { type AgentTool, ToolFailure } from './agent-tool.ts';

const config = z.strictObject({ agent_id: uuid });
const input = z.object({
  message: z
    .string()
    .min(1)
    .describe('What the other agent is asked. It sees nothing else of this conversation.'),
});

const maxDepth = 3;

export const callAgent = (
  agents: () => Pick<AgentStore, 'get' | 'published'>,
): AgentTool<z.output<typeof config>, z.output<typeof input>> => ({
  type: 'consultant_call_agent',
  description: 'Ask another agent, and get its answer.',
  config,
  async checkConfig({ agent_id }, workspaceId) {
    const isKnown = (await agents().get(workspaceId, agent_id)) !== undefined;
    return isKnown ? undefined : `agent_id names no agent of the workspace: ${agent_id}`;
  },
  input: () => input,
  start: ({ message }, { agent_id }) => ({ content: 'Asking another agent', args: { agent_id, message } }),
  async run({ message }, use) {
    const { agent_id } = use.config;
    if (use.agents.some(({ agentId }) => agentId === agent_id))
      throw new ToolFailure(
        'This agent is already at work on the reply: agents cannot call each other in a circle',
      );
    if (use.agents.length > maxDepth)
      throw new ToolFailure(`Agents can call each other at most ${maxDepth} deep`);
    const agent = await agents().published(use.agents[0].workspaceId, agent_id);
    if (agent === undefined) throw new ToolFailure('The other agent is not published');
    const { text, usage } = await use.callAgent(agent, message, use.signal);
    return { data: { agent_id, agent_name: agent.definition.name, reply: text }, usage };
  },
});
