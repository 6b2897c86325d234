import type * as z from 'zod';
import type { TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

/**
 * A tool that an agent can use during a reply. Each tool is one file and one line in
 * runtime/composition/agent-tools.ts. Each use is a reasoning step (specification, section 6.1).
 */
export interface AgentTool<Config = unknown, Input = unknown> {
  /** The step's type. Also the tool's name for the model, unless the agent sets another name. */
  type: string;
  /** Tells the model when to use the tool, unless the agent sets another description. */
  description: string;
  /** The schema of `config` in an agent's tool. */
  config: z.ZodType<Config>;
  /**
   * Checks what the schema cannot, when an agent is created or updated.
   * @returns what is wrong, such as `agent_id names no agent`; undefined if nothing is
   */
  checkConfig?(config: Config, workspaceId: string): Promise<string | undefined>;
  /**
   * The schema of the model's arguments. Return the same schema object for the same config: its JSON Schema is cached
   * by the object.
   */
  input(config: Config): z.ZodType<Input>;
  /** The step's start event: a line for people, and the arguments to show. */
  start(input: Input, config: Config): { content: string; args: Record<string, unknown> };
  /**
   * Runs the tool. A failure becomes a step with `success: false`, and the reply continues.
   * @throws ToolFailure with a text for the model and the client. The text of any other error is not shown to them.
   */
  run(input: Input, use: ToolUse<Config>): Promise<ToolOutcome>;
  /** Returns false if this deployment is not configured for the tool. Agents are then not offered it. */
  isAvailable?: () => boolean;
  /**
   * The tool searches the chat. An agent that was called by another agent is not offered the tool, because the chat
   * belongs to the calling agent.
   */
  searchesChat?: true;
  /** After this tool the model may only write text: the reply ends and the user responds next. */
  handsOver?: true;
}

export interface ToolUse<Config> {
  config: Config;
  /** Null for a reply that belongs to no chat. */
  chat: Chat | null;
  /** Files attached to the current user message. */
  attachments: readonly StoredFile[];
  /** The chain of agents: the reply's agent first, the agent that uses the tool last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
  /** Aborts when the reply is aborted, or at the tool's timeout. */
  signal: AbortSignal;
  /** Runs another agent with this message and returns its text. */
  callAgent(
    agent: AgentVersion,
    message: string,
    signal: AbortSignal,
  ): Promise<{ text: string; usage: TokenUsage }>;
}

export interface ToolOutcome {
  /** JSON for the model and for clients: the step's `result.data`. */
  data: unknown;
  /** Token usage of the tool's own model calls. */
  usage?: TokenUsage;
}

export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  readonly usage: TokenUsage | undefined;

  constructor(message: string, options: ErrorOptions & { usage?: TokenUsage } = {}) {
    super(message, options);
    this.usage = options.usage;
  }
}
