import { offeredTools } from '#agents/tools/agent-tool.ts';
import { ReplyScope } from '#agents/tools/reply-scope.ts';
import type { AgentDefinition } from '#contract/agent.ts';
import { agents, attachments, toolsWith } from './services.ts';

/**
 * Uses a tool of another system for an operator's command, as a reply does, but whatever its approval, and without the
 * timeout of replies. There is no chat, and a draft has no version.
 * @param of the agent, its workspace, and the external user of a chat, for placeholders
 * @returns the data that the step would have
 * @throws Error if there is no such tool, the arguments do not fit, or the tool fails
 */
export async function useRemoteTool(
  definition: AgentDefinition,
  name: string,
  args: unknown,
  {
    agentId,
    workspace: workspaceId,
    user,
  }: { agentId: string; workspace: string; user?: string | undefined },
): Promise<unknown> {
  const tool = (await offeredTools(toolsWith(attachments), definition)).find((each) => each.name === name);
  if (!tool?.isRemote) throw new Error(`The agent has no tool ${name} of another system`);
  const { input, problem } = { input: undefined, ...tool.read(args) };
  if (problem !== undefined) throw new Error(`The arguments do not fit the tool: ${problem}`);
  const { number = null } = (await agents().published(workspaceId, agentId)) ?? {};
  const scope = new ReplyScope();
  try {
    const use = {
      ...{ callId: 'tools-call', chat: { externalUserId: user ?? null }, scope, attachments: [] },
      ...{ agents: [{ workspaceId, agentId, number }], signal: new AbortController().signal },
    } as never;
    return (await tool.run(input, use)).data;
  } finally {
    await scope.close();
  }
}
