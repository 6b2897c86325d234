import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { Chat } from './chat.ts';
import type { AssistantMessage, Incomplete, UserMessage } from './message.ts';
import type { ReplyBudget } from './reply-budget.ts';

/** A part of a user message that no store has, in the order in which the model gets it. */
export type PromptPart =
  | { type: 'text'; text: string }
  | { type: 'image'; mediaType: string; bytes: Uint8Array };

/** An earlier message, as models get it. `parts` replace the content. */
export type PromptMessage =
  | (Pick<UserMessage, 'role' | 'content' | 'attachments'> & { parts?: readonly PromptPart[] })
  | Pick<AssistantMessage, 'role' | 'content' | 'reasoningSteps' | 'rejectedTurns'>;

/** How the model chooses its words, where the caller says so. Models of called agents do not get it. */
export interface Sampling {
  topP?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  seed?: number;
  stopSequences?: string[];
}

export interface ReplyRequest {
  agent: AgentVersion;
  /** Null for a reply that belongs to no chat. Tools that need a chat are then not offered. */
  chat: Chat | null;
  /** Earlier messages, oldest first. */
  history: PromptMessage[];
  message: string;
  /** Replace `message` in the prompt. */
  parts?: readonly PromptPart[] | undefined;
  sampling?: Sampling | undefined;
  /** Files of this message; `history` has those of earlier messages. */
  attachments: StoredFile[];
  budget: ReplyBudget;
  signal: AbortSignal;
}

/** An event of a running reply. Each reasoning step that starts also ends, unless the reply is aborted. */
export type ReplyPart =
  | { type: 'text'; text: string }
  /** The model has sent something else: reasoning, or a piece of a tool call. */
  | { type: 'progress' }
  | { type: 'step-start'; step: Pick<ReasoningStep, 'id' | 'type' | 'content' | 'args'> }
  | { type: 'step-end'; step: Pick<ReasoningStep, 'id' | 'token_usage'> & { result: StepResult } }
  /** A call of a model starts, also one of a called agent. */
  | { type: 'call start'; call: ModelCall }
  /** The usage of a reply is the sum over its calls. A call that failed before its first output has none. */
  | { type: 'call end'; call: ModelCall; usage: TokenUsage };

export interface ModelCall {
  model: string;
  callType: 'chat' | 'consultant_call_agent';
}

/** Why a reply has ended by itself. */
export type ReplyEndReason =
  /** The model has ended it. */
  | 'stop'
  /** The model has ended it without a text. */
  | 'empty'
  /** The token limit of one model call. */
  | 'max-output-tokens'
  | 'max-reply-bytes'
  | 'max-steps'
  | 'max-model-calls'
  | 'max-tool-uses'
  | 'content-filter';

export interface ReplyEnd {
  reason: ReplyEndReason;
  /** Error message for clients if the reply failed; otherwise null. */
  cutShort: string | null;
  /** Why the reply was cut short without an error; otherwise null. */
  incomplete: Incomplete | null;
  /** The provider took the prompt only without the rejected turns at the end of the history. */
  isWithoutRejected?: boolean;
}

export type StepResult = NonNullable<ReasoningStep['result']>;

export interface AgentRuntime {
  /**
   * Makes a reply and emits its parts as they come. Parts that are emitted after an abort must be ignored.
   * @throws ModelFailure if the model fails; the parts before stay valid
   */
  reply(request: ReplyRequest, forwardTo: (part: ReplyPart) => void): Promise<ReplyEnd>;
  /**
   * Makes a title of at most 60 characters for a chat with this first message.
   * @returns undefined if the model makes none, or if the budget of the reply has no call left
   */
  title(request: {
    agent: AgentVersion;
    message: string;
    budget: ReplyBudget;
    signal: AbortSignal;
  }): Promise<string | undefined>;
}
