import { offeredTools, ReplyScope } from '#agents/tools/agent-tool.ts';
import type { AgentDefinition } from '#contract/agent.ts';
import { agents, attachments, toolsWith } from './services.ts';

/**
 * For operators' commands only: whatever the tool's approval, and without the timeout of replies.
 * @throws Error if there is no such tool, the arguments do not fit, or the tool fails
 */
export async function useRemoteTool(
  definition: AgentDefinition,
  name: string,
  args: unknown,
  of: { agentId: string; workspace: string; user?: string | undefined },
): Promise<unknown> {
  const tool = (await offeredTools(toolsWith(attachments), definition)).find((each) => each.name === name);
  if (!tool?.isRemote) throw new Error(`The agent has no tool ${name} of another system`);
  const read = tool.read(args);
  if (read.problem !== undefined) throw new Error(`The arguments do not fit the tool: ${read.problem}`);
  const { agentId, workspace: workspaceId, user = null } = of;
  const { number = null } = (await agents().published(workspaceId, agentId)) ?? {};
  const scope = new ReplyScope();
  try {
    const use = {
      ...{ callId: 'tools-call', chat: { externalUserId: user }, scope, attachments: [] },
      ...{ agents: [{ workspaceId, agentId, number }], signal: new AbortController().signal },
    } as never;
    return (await tool.run(read.input, use)).data;
  } finally {
    await scope.close();
  }
}
