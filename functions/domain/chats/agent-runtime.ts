import { invalidField } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { CountedCall } from '#domain/platform/services.ts';
import type { Chat } from './chat.ts';
import type { AssistantMessage, Incomplete, UserMessage } from './message.ts';
import type { ReplyForm } from './reply-form.ts';

/** A part of a user message of a completion; it is not stored. Parts have the order in which the model gets them. */
export type PromptPart =
  | { type: 'text'; text: string }
  | { type: 'image'; mediaType: string; bytes: Uint8Array };

/** An earlier message for the prompt. If it has `parts`, the model gets these instead of `content`. */
export type PromptMessage =
  | (Pick<UserMessage, 'role' | 'content' | 'attachments'> & { parts?: readonly PromptPart[] | undefined })
  | Pick<AssistantMessage, 'role' | 'content' | 'reasoningSteps' | 'rejectedTurns'>;

/** Sampling parameters of a completion, as its client has set them. Models of called agents do not get them. */
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
  /** Replaces `message` in the prompt. */
  parts?: readonly PromptPart[] | undefined;
  sampling?: Sampling | undefined;
  /** Files of this message. Files of earlier messages are in `history`. */
  attachments: StoredFile[];
  budget: ReplyBudget;
  signal: AbortSignal;
  /** The form that the request asks for. Agents that are called, and titles, do not get it. */
  form?: ReplyForm | undefined;
  /** Whether the reply is for a request of a batch, whose calls may have a service tier of their own. */
  isOfBatch?: boolean;
}

/**
 * The form that a request asks for; undefined if it asks for none. The module that checks forms is loaded on demand.
 * @param reject makes the error, as in `formOfRequest`
 * @throws the error of `reject`, by default badRequest
 */
export const requestedForm = async (
  format: ResponseFormat | undefined,
  { definition }: AgentVersion,
  reject: (param: string, problem: string) => Error = invalidField,
): Promise<ReplyForm | undefined> =>
  format && (await import('./reply-form.ts')).formOfRequest(format, definition, reject);

/**
 * A part of a running reply. The types that start with `response.` are those of the events that clients get; the time
 * of a step is added later. The end of a reasoning step is missing if the reply ends before the step.
 */
export type ReplyPart =
  | Extract<StreamEventBody, { type: 'response.output_text.delta' }>
  /** The model has sent something else, such as reasoning, or text that is checked before it is sent. */
  | { type: 'progress' }
  | { type: 'response.reasoning_step.start'; step: Pick<ReasoningStep, 'id' | 'type' | 'content' | 'args'> }
  | { type: 'response.reasoning_step.end'; step: StepEnd }
  /** A model call starts. Calls of called agents are included. */
  | { type: 'call start'; call: ModelCall }
  /** A model call ends. The usage of a reply is the sum over its calls. */
  | { type: 'call end'; call: ModelCall; usage: CallUsage };

export interface ModelCall {
  /** The agent's `llm_model`, or one of its fallback models. */
  model: string;
  /** The provider's service tier, such as `flex`; undefined for the usual one. Each tier may have its own price. */
  tier?: string | undefined;
  callType: 'chat' | 'consultant_call_agent' | 'title';
}

/**
 * The usage of one call. Clients do not see `written_prompt_tokens`: the tokens that the provider has written to its
 * cache.
 */
export interface CallUsage extends TokenUsage {
  written_prompt_tokens?: number;
}

export const countedCall = ({ model: name, tier, callType }: ModelCall, usage: CallUsage): CountedCall => {
  const model = tier === undefined ? name : `${name}#${tier}`;
  const { cached_prompt_tokens: cached, written_prompt_tokens: written = 0 } = usage;
  const counted = [model, callType, usage.total_prompt_tokens, usage.total_completion_tokens] as const;
  if (written > 0) return [...counted, cached, written];
  return cached > 0 ? [...counted, cached] : [...counted];
};

/** Why a reply has ended without an abort. */
export type ReplyEndReason =
  /** The reply is complete. */
  | 'stop'
  /** The model has ended the reply without a text, and no tool has handed over to the user. */
  | 'empty'
  /** A model call has reached its token limit. */
  | 'max-output-tokens'
  | 'max-reply-bytes'
  | 'max-steps'
  | 'max-model-calls'
  | 'max-tool-uses'
  | 'content-filter'
  /** The text does not have the form that the reply must have. The model may have been asked once to correct it. */
  | 'invalid-reply';

export interface ReplyEnd {
  reason: ReplyEndReason;
  /** Error message for clients if the reply failed; otherwise null. */
  cutShort: string | null;
  /** Why the reply was cut short without an error; otherwise null. */
  incomplete: Incomplete | null;
  /** Whether the provider accepted the prompt only without the rejected turns at the end of the history. */
  isWithoutRejected?: boolean;
}

export type StepResult = NonNullable<ReasoningStep['result']>;
export type StepEnd = Pick<ReasoningStep, 'id' | 'token_usage'> & { result: StepResult };

export interface AgentRuntime {
  /**
   * Makes a reply and emits its parts as they come. Parts that are emitted after an abort must be ignored.
   * @throws ModelFailure if the model fails; the parts before the failure stay valid
   */
  reply(request: ReplyRequest, forwardTo: (part: ReplyPart) => void): Promise<ReplyEnd>;
  /**
   * Makes a title of at most 60 characters for a chat with this first message.
   * @param request.onCall called when a model call starts, still without its tokens, and when it has ended, with its
   *   tokens, or with undefined if it has failed and is free. The last value counts
   * @returns undefined if the model makes none, or if the reply's budget has no call left
   * @throws ModelFailure if the model fails
   */
  title(request: {
    agent: AgentVersion;
    message: string;
    budget: ReplyBudget;
    signal: AbortSignal;
    onCall: (call: CountedCall | undefined) => void;
  }): Promise<string | undefined>;
}

/**
 * Limits of one reply. Model calls and tool uses of called agents count too, and a model call for the title of the
 * chat.
 */
export interface ReplyLimits {
  /** Maximum of model calls, retries included. */
  modelCalls: number;
  toolUses: number;
  toolsAtOnce: number;
  /** UTF-8 bytes of the reply's text. The text of each called agent has its own limit of the same size. */
  replyBytes: number;
}

/** A tool that runs. */
export interface RunningTool {
  /**
   * Whether the tool has called an agent, and waits while that agent uses a tool. Then the two count as one for
   * `toolsAtOnce`.
   */
  isWaiting: boolean;
  end(): void;
}

/** A model call that only one agent can use, for its final text. */
export interface ReservedCall {
  /** @returns false if it was taken or released before */
  take(): boolean;
  /** Returns the call to the budget if it was not used. */
  release(): void;
}

/**
 * Counts what one reply uses. Called agents share the budget, so agents that call agents do not multiply it. One model
 * call is reserved for each agent that starts, so that it can end with a text when no other call is left.
 */
export class ReplyBudget {
  readonly limits: ReplyLimits;
  private modelCalls = 0;
  private reservedCalls = 0;
  private toolUses = 0;
  private runningTools = 0;

  constructor(limits: ReplyLimits) {
    this.limits = limits;
  }

  /** Calls beyond the first one. The rate limit counts the first one when it accepts the request. */
  get furtherModelCalls(): number {
    return Math.max(0, this.modelCalls - 1);
  }

  /** Takes a model call. Returns false if none is left, apart from reserved ones. */
  takeModelCall(): boolean {
    if (this.modelCalls + this.reservedCalls >= this.limits.modelCalls) return false;
    this.modelCalls += 1;
    return true;
  }

  /** Reserves a model call. Returns undefined if none is left, apart from reserved ones. */
  reserveModelCall(): ReservedCall | undefined {
    if (this.modelCalls + this.reservedCalls >= this.limits.modelCalls) return undefined;
    this.reservedCalls += 1;
    let isReserved = true;
    const release = (): void => {
      if (isReserved) this.reservedCalls -= 1;
      isReserved = false;
    };
    return {
      release,
      take: () => {
        if (!isReserved) return false;
        release();
        this.modelCalls += 1;
        return true;
      },
    };
  }

  /**
   * Counts a tool that starts.
   * @param caller the running tool that called the agent of this tool; undefined for a tool of the reply's own agent
   * @returns the running tool, whose `end` must be called; or the limit that was reached, if the tool may not start
   */
  startTool(caller: RunningTool | undefined): RunningTool | 'toolUses' | 'toolsAtOnce' {
    if (this.toolUses >= this.limits.toolUses) return 'toolUses';
    const waiting = caller?.isWaiting === false ? caller : undefined;
    if (waiting === undefined && this.runningTools >= this.limits.toolsAtOnce) return 'toolsAtOnce';
    this.toolUses += 1;
    if (waiting === undefined) this.runningTools += 1;
    else waiting.isWaiting = true;
    return {
      isWaiting: false,
      end: () => {
        if (waiting === undefined) this.runningTools -= 1;
        else waiting.isWaiting = false;
      },
    };
  }
}
