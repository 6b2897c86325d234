import type * as z from 'zod';
import type { TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

/**
 * Something that an agent can do while it answers: one file each, and one line in runtime/composition/agent-tools.ts. Each use is a
 * reasoning step (specification, section 6.1).
 */
export interface AgentTool<Config = unknown, Input = unknown> {
  /** The step's type; the name that the model calls it by, unless the agent gives it another. */
  type: string;
  /** Tells the model when to use it, unless the agent says so itself. */
  description: string;
  /** What `config` of an agent's tool may hold. */
  config: z.ZodType<Config>;
  /** Checks at an agent's making what a schema cannot. @throws Error with what is wrong */
  checkConfig?(config: Config, workspaceId: string): Promise<void>;
  /** The arguments that the model gives. The same config should give the same schema object, which is then read once. */
  input(config: Config): z.ZodType<Input>;
  /** The step as it starts: a line for people, and the arguments to show. */
  start(input: Input, config: Config): { content: string; args: Record<string, unknown> };
  /**
   * Does it. A failure is a step with `success: false`, and the reply goes on.
   * @throws ToolFailure for what the model and the client may read; any other error is told as a failure without its words
   */
  run(input: Input, use: ToolUse<Config>): Promise<ToolOutcome>;
  /** False when this deployment lacks what the tool needs: agents then have no such tool. */
  isAvailable?: () => boolean;
  /** Searches the chat: a called agent does not have it, since the chat is its caller's. */
  searchesChat?: true;
  /** After it the model may only speak: the next move is the user's. */
  handsOver?: true;
}

export interface ToolUse<Config> {
  config: Config;
  chat: Chat;
  /** Files of the message that is being answered. */
  attachments: readonly StoredFile[];
  /** The agents that led here, the one that uses the tool last. */
  agents: readonly AgentVersion[];
  /** Aborts when the reply does, or when the tool has taken too long. */
  signal: AbortSignal;
  /** Lets another agent answer a message. */
  callAgent(
    agent: AgentVersion,
    message: string,
    signal: AbortSignal,
  ): Promise<{ text: string; usage: TokenUsage }>;
}

export interface ToolOutcome {
  /** JSON, read by the model and by clients: the step's `result.data`. */
  data: unknown;
  /** Tokens that the tool's own calls of models took. */
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
