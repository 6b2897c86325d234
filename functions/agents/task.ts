import type { AgentVersion } from '#domain/agents/agent.ts';
import type { ReplyPart, ReplyRequest } from '#domain/chats/agent-runtime.ts';
import type { RunningTool } from '#domain/chats/reply-budget.ts';

/** The work of one agent: the reply itself, or a call from another agent's tool. */
export interface Task extends Omit<ReplyRequest, 'agent'> {
  /** The chain of calls: the reply's agent first, the agent of this task last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
  /** The tool use that called this agent; undefined for the reply's own agent. */
  caller: RunningTool | undefined;
}

export type Emit = (part: ReplyPart) => void;
