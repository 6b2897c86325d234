import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { Chat } from './chat.ts';
import type { Incomplete, Message } from './message.ts';
import type { ReplyBudget } from './reply-budget.ts';

export interface ReplyRequest {
  agent: AgentVersion;
  chat: Chat;
  /** Earlier messages, oldest first. */
  history: Message[];
  message: string;
  /** Files of this message; those of earlier ones stand in the history. */
  attachments: StoredFile[];
  budget: ReplyBudget;
  signal: AbortSignal;
}

/** What happens while a reply is made. Every step that starts ends, unless the reply is aborted. */
export type ReplyPart =
  | { type: 'text'; text: string }
  | { type: 'step start'; step: Pick<ReasoningStep, 'id' | 'type' | 'content' | 'args'> }
  | { type: 'step end'; step: Pick<ReasoningStep, 'id' | 'token_usage'> & { result: StepResult } }
  /** Of a model, also for the agents that this one asked. */
  | { type: 'call start'; call: ModelCall }
  /** The sum of all is the reply's usage: none of a call that failed before the model said anything. */
  | { type: 'call end'; call: ModelCall; usage: TokenUsage };

export interface ModelCall {
  model: string;
  callType: 'chat' | 'consultant_call_agent';
}

export interface ReplyEnd {
  /** Why the reply is a failure, for clients to read; null when it is none. */
  cutShort: string | null;
  /** Why it did not end by itself, although it is none. */
  incomplete: Incomplete | null;
}

export type StepResult = NonNullable<ReasoningStep['result']>;

export interface AgentRuntime {
  /**
   * Makes a reply, told part by part as it comes about; a part may be told after an abort, and then counts no more.
   * @throws ModelFailure when the model fails; what was told before stays valid
   */
  reply(request: ReplyRequest, forwardTo: (part: ReplyPart) => void): Promise<ReplyEnd>;
  /**
   * A title for a chat that begins with this message, at most 60 characters; undefined when the model makes none, or the
   * reply's budget has no call for it.
   */
  title(request: {
    agent: AgentVersion;
    message: string;
    budget: ReplyBudget;
    signal: AbortSignal;
  }): Promise<string | undefined>;
}
