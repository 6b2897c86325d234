import { invalidField } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/files.ts';
import type { CountedCall } from '#domain/platform/services.ts';
import type { Chat } from './chat.ts';
import type { AssistantMessage, Incomplete, UserMessage } from './message.ts';
import type { ReplyForm } from './reply-form.ts';

type TextPart = { type: 'text'; text: string };

export type PromptPart = TextPart | { type: 'image'; mediaType: string; bytes: Uint8Array };

const isText = (part: { type: string } | undefined): part is TextPart => part?.type === 'text';

/** Joins adjacent texts, because some model servers accept only one text as content. */
export function joinTexts<Part extends { type: string }>(parts: readonly (Part | TextPart)[]) {
  const joined: (Part | TextPart)[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (isText(last) && isText(part))
      joined.splice(-1, 1, { type: 'text', text: `${last.text}\n\n${part.text}` });
    else joined.push(part);
  }
  return joined;
}

/** If a message has `parts`, the model gets these instead of its `content`. */
export type PromptMessage =
  | (Pick<UserMessage, 'role' | 'content' | 'attachments'> & { parts?: readonly PromptPart[] | undefined })
  | Pick<AssistantMessage, 'role' | 'content' | 'reasoningSteps' | 'rejectedTurns'>;

/** Of a completion. Models of called agents do not get it. */
export interface Sampling {
  topP?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  seed?: number;
  stopSequences?: string[];
}

export interface ReplyRequest {
  agent: AgentVersion;
  /** Null for a completion. The chat of a test is not stored. */
  chat: Chat | null;
  /** Oldest first. */
  history: PromptMessage[];
  message: string;
  /** Replaces `message` in the prompt. */
  parts?: readonly PromptPart[] | undefined;
  sampling?: Sampling | undefined;
  attachments: StoredFile[];
  budget: ReplyBudget;
  signal: AbortSignal;
  /** Called agents do not get it. */
  form?: ReplyForm | undefined;
  /** The calls of a request of a batch may have a service tier of their own. */
  isOfBatch?: boolean;
}

/** @throws the error of `reject`, by default badRequest */
export const requestedForm = async (
  format: ResponseFormat | undefined,
  { definition }: AgentVersion,
  reject: (param: string, problem: string) => Error = invalidField,
): Promise<ReplyForm | undefined> =>
  format && (await import('./reply-form.ts')).formOfRequest(format, definition, reject);

/**
 * The types that start with `response.` are those of events that clients get. The end of a reasoning step is missing if
 * the reply ends before it.
 */
export type ReplyPart =
  | Extract<StreamEventBody, { type: 'response.output_text.delta' }>
  /** The model has sent something else, such as reasoning, or text that is checked before clients get it. */
  | { type: 'progress' }
  | { type: 'response.reasoning_step.start'; step: Pick<ReasoningStep, 'id' | 'type' | 'content' | 'args'> }
  | { type: 'response.reasoning_step.end'; step: StepEnd }
  | { type: 'call start'; call: ModelCall }
  | { type: 'call end'; call: ModelCall; usage: CallUsage };

export interface ModelCall {
  model: string;
  /** The provider's service tier, such as `flex`; undefined for the usual one. Each tier may have its own price. */
  tier?: string | undefined;
  callType: 'chat' | 'consultant_call_agent' | 'title';
}

/** `written_prompt_tokens`: written to the provider's cache, and not shown to clients. */
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

export type ReplyEndReason =
  | 'stop'
  /** The model has ended the reply without a text, and no tool has handed over to the user. */
  | 'empty'
  | 'max-output-tokens'
  | 'max-reply-bytes'
  | 'max-steps'
  | 'max-model-calls'
  | 'max-tool-uses'
  | 'content-filter'
  | 'invalid-reply';

export interface ReplyEnd {
  reason: ReplyEndReason;
  /** Error message for clients; null if the reply has not failed. */
  cutShort: string | null;
  incomplete: Incomplete | null;
  /** Whether the provider accepted the prompt only without the rejected turns at the end of the history. */
  isWithoutRejected?: boolean;
}

export type StepResult = NonNullable<ReasoningStep['result']>;
export type StepEnd = Pick<ReasoningStep, 'id' | 'token_usage'> & { result: StepResult };

export interface AgentRuntime {
  /**
   * Parts that are emitted after an abort must be ignored.
   * @throws ModelFailure if the model fails; the parts before the failure stay valid
   */
  reply(request: ReplyRequest, forwardTo: (part: ReplyPart) => void): Promise<ReplyEnd>;
  /**
   * Makes a title of at most 60 characters.
   * @param request.onCall gets the call with its tokens as far as they are known, or undefined if it is free. The last
   *   value counts
   * @returns undefined if the model makes none, or if the budget has no call left
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

/** The calls and tools of called agents count too, and a model call for the title of the chat. */
export interface ReplyLimits {
  /** Retries included. */
  modelCalls: number;
  toolUses: number;
  toolsAtOnce: number;
  /**
   * UTF-8 bytes of a reply's text and, counted apart, of the reasoning and tool arguments of one model call. Each
   * called agent has its own limit of the same size.
   */
  replyBytes: number;
}

export interface RunningTool {
  /** Whether it waits for a tool of an agent that it called. The two then count as one for `toolsAtOnce`. */
  isWaiting: boolean;
  end(): void;
}

/** A model call that an agent has reserved for its own final text. */
export interface ReservedCall {
  take(): boolean;
  release(): void;
}

/** Called agents share the counts of calls and tools, so agents that call agents do not multiply them. */
export class ReplyBudget {
  readonly limits: ReplyLimits;
  private modelCalls = 0;
  private reservedCalls = 0;
  private toolUses = 0;
  private runningTools = 0;

  constructor(limits: ReplyLimits) {
    this.limits = limits;
  }

  /** The rate limit counts the first call when it accepts the request. */
  get furtherModelCalls(): number {
    return Math.max(0, this.modelCalls - 1);
  }

  takeModelCall(): boolean {
    if (this.modelCalls + this.reservedCalls >= this.limits.modelCalls) return false;
    this.modelCalls += 1;
    return true;
  }

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
   * @param caller the running tool that called the agent of this tool; undefined for a tool of the reply's own agent
   * @returns the running tool, whose `end` must be called; or the limit that was reached
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
