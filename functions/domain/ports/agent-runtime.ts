import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '../agent.ts';
import type { Message } from '../message.ts';

export interface ReplyRequest {
  agent: AgentVersion;
  /** Earlier messages, oldest first. */
  history: Message[];
  message: string;
  signal: AbortSignal;
}

export type ReplyPart =
  | { type: 'text'; text: string }
  | {
      type: 'end';
      usage: TokenUsage;
      reasoningSteps: ReasoningStep[];
      /** Why the model stopped before the reply was whole, for clients to read; null when it is whole. */
      cutShort: string | null;
    };

export interface AgentRuntime {
  /** The reply in pieces, an `end` last. Throws when the model fails; what came before stays valid. */
  reply(request: ReplyRequest): AsyncIterable<ReplyPart>;
  /** A title for a chat that begins with this message; undefined when the agent's model makes none. */
  title(request: { agent: AgentVersion; message: string; signal: AbortSignal }): Promise<string | undefined>;
}
