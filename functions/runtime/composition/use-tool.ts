import { offeredTools } from '#agents/tools/agent-tool.ts';
import { ReplyScope } from '#agents/tools/reply-scope.ts';
import type { AgentDefinition } from '#contract/agent.ts';
import { agentTools } from './agent-tools.ts';
import * as services from './services.ts';

/**
 * Uses a tool of another system for an operator's command, as a reply does, but whatever its approval, and without the
 * timeout of replies. There is no id of a chat or an agent.
 * @param user the external user of a chat, for placeholders
 * @returns the data that the step would have
 * @throws Error if there is no such tool, the arguments do not fit, or the tool fails
 */
export async function useRemoteTool(
  definition: AgentDefinition,
  name: string,
  args: unknown,
  { workspaceId, user }: { workspaceId: string; user?: string | undefined },
): Promise<unknown> {
  const offered = await offeredTools(agentTools(services), definition);
  const tool = offered.find((each) => each.name === name && each.isRemote);
  if (tool === undefined) throw new Error(`The agent has no tool ${name} of another system`);
  const read = tool.read(args);
  if (read.problem !== undefined) throw new Error(`The arguments do not fit the tool: ${read.problem}`);
  const scope = new ReplyScope();
  const { signal } = new AbortController();
  const chat = { externalUserId: user ?? null };
  try {
    const use = {
      ...{ callId: 'tools-call', chat, scope, signal, attachments: [] },
      agents: [{ workspaceId }],
    } as never;
    return (await tool.run(read.input, use)).data;
  } finally {
    await scope.close();
  }
}
