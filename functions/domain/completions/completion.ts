import type { ErrorKind } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatCompletionRequest,
  type CompletionUsage,
  type FinishReason,
  invalidParameter,
  OpenAiError,
  shouldRetryHeader,
} from '#contract/openai.ts';
import { responseFormat } from '#contract/response-format.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { type ReplyEndReason, requestedForm } from '#domain/chats/agent-runtime.ts';
import { type CollectedReply, type Reply, ReplyAborted } from '#domain/chats/collect-reply.ts';
import { noUsage } from '#domain/chats/message.ts';
import type { ReplyForm } from '#domain/chats/reply-form.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/failures.ts';

/**
 * A function of the client that `tool_choice` forces. Its schema becomes the form of the reply. `formOfCompletion`
 * checks the name, the description and the schema.
 */
export interface ForcedTool {
  /** Empty if the client has sent no name, or one that is not a string. */
  name: string;
  description: string | undefined;
  schema: object;
  /** Whether `tool_choice` names it; otherwise, it only requires some tool. */
  isNamed: boolean;
}

export const ownTools = 'is not supported: agents bring their own tools, which run here';

const fieldsOf = (value: unknown): Record<string, unknown> => Object(value) as Record<string, unknown>;

/**
 * Undefined for a request without tools.
 * @throws OpenAiError for any other use of tools than one function that must be called; `formOfCompletion` rejects a
 *   function without a name
 */
export function forcedTool({ tools = [], tool_choice }: ChatCompletionRequest): ForcedTool | undefined {
  if (tools.length === 0) return undefined;
  const [tool] = tools.map(fieldsOf);
  const { name, description, parameters = {} } = fieldsOf(tool?.function);
  const choice = fieldsOf(tool_choice);
  const isNamed = fieldsOf(choice.function).name === name;
  const isRequired = [tool_choice, fieldsOf(choice.allowed_tools).mode].includes('required');
  if (tools.length > 1 || tool?.type !== 'function' || !(isNamed || isRequired))
    throw invalidParameter(
      'tools',
      `${ownTools}; one function that tool_choice forces is a form of the reply`,
    );
  const text = typeof name === 'string' ? name : '';
  // LangChain for Python sends an empty description for a class that has none.
  const about = (typeof description === 'string' && description) || undefined;
  return { name: text, description: about, schema: fieldsOf(parameters), isNamed };
}

/**
 * Undefined for plain text.
 * @throws OpenAiError for a wrong parameter
 */
export async function formOfCompletion(
  { response_format: format }: ChatCompletionRequest,
  tool: ForcedTool | undefined,
  agent: AgentVersion,
): Promise<ReplyForm | undefined> {
  if (tool === undefined) return requestedForm(format, agent, invalidParameter);
  if (format !== undefined && format.type !== 'text')
    throw invalidParameter('response_format', 'must have the type "text" together with a tool');
  const { data, error } = responseFormat.safeParse({ type: 'json_schema', json_schema: tool });
  const [issue] = error?.issues ?? [];
  if (issue) throw invalidParameter(`tools[0].function.${String(issue.path.at(-1))}`, issue.message);
  return requestedForm(data, agent, (param, problem) =>
    invalidParameter(param === 'response_format' ? 'tools' : 'tools[0].function.parameters', problem),
  );
}

const finishReasons: Readonly<Record<ReplyEndReason, FinishReason>> = {
  stop: 'stop',
  empty: 'stop',
  'max-output-tokens': 'length',
  'max-reply-bytes': 'length',
  'max-steps': 'length',
  'max-model-calls': 'length',
  'max-tool-uses': 'length',
  'content-filter': 'content_filter',
  'invalid-reply': 'stop',
};

const kinds: Readonly<Record<ModelFailureKind, ErrorKind>> = {
  throttled: 'unavailable',
  unavailable: 'unavailable',
  tooLong: 'badRequest',
  refused: 'badRequest',
  failed: 'serverError',
};

/** An error must not make the client repeat its request automatically: the model calls of the reply may be paid. */
type CompletionOutcome = FinishReason | OpenAiError;

export function outcomeOf({ reply, error, reason }: CollectedReply): CompletionOutcome {
  const message = reply.error?.message ?? 'The reply was interrupted';
  const headers = { [shouldRetryHeader]: 'false' };
  // Clients may repeat a request after 408, 409, 429 and 5xx, but not after 400.
  if (reason === 'invalid-reply')
    return new OpenAiError('badRequest', message, { headers, code: 'invalid_reply' });
  if (reason !== undefined) return finishReasons[reason];
  const kind = error instanceof ModelFailure ? error.kind : 'failed';
  return new OpenAiError(kinds[kind], message, {
    ...{ headers, reason: message },
    ...(kind === 'tooLong' && { param: 'messages', code: 'context_length_exceeded' }),
  });
}

export const isAbandoned = ({ error }: CollectedReply): boolean =>
  error instanceof ReplyAborted && error.kind === 'stopped-by-client';

type CompletionHead = Pick<ChatCompletion, 'id' | 'created' | 'model' | 'system_fingerprint'>;

export const completionHead = (agent: AgentVersion, uuid: string, now: Date): CompletionHead => ({
  id: `chatcmpl-${uuid.replaceAll('-', '')}`,
  created: Math.floor(now.getTime() / 1000),
  model: agent.agentId,
  system_fingerprint: `v${agent.number}`,
});

const usageOf = (usage: TokenUsage): CompletionUsage => ({
  prompt_tokens: usage.total_prompt_tokens,
  completion_tokens: usage.total_completion_tokens,
  total_tokens: usage.total_tokens,
  prompt_tokens_details: { cached_tokens: usage.cached_prompt_tokens },
});

const lineOf = ({ content }: Pick<ReasoningStep, 'content'>): string => `${content}\n`;

export const completionResource = (
  head: CompletionHead,
  { content, usage, reasoningSteps }: Reply,
  finish_reason: FinishReason,
  tool?: ForcedTool,
): ChatCompletion => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        ...(tool === undefined || content === ''
          ? { content }
          : { content: null, tool_calls: [callOf(head, tool, content)] }),
        refusal: null,
        ...(reasoningSteps.length > 0 && { reasoning_content: reasoningSteps.map(lineOf).join('') }),
      },
      logprobs: null,
      finish_reason: finishOf(finish_reason, tool),
    },
  ],
  usage: usageOf(usage),
  ...(reasoningSteps.length > 0 && { agent_steps: reasoningSteps }),
});

/** OpenAI ends a reply with `stop` if the tool was named, and with `tool_calls` if some tool was required. */
const finishOf = (reason: FinishReason, tool: ForcedTool | undefined): FinishReason =>
  reason === 'stop' && tool?.isNamed === false ? 'tool_calls' : reason;

const callOf = ({ id }: CompletionHead, { name }: ForcedTool, text: string) => ({
  id: id.replace('chatcmpl-', 'call_'),
  type: 'function' as const,
  function: { name, arguments: text },
});

type Delta = ChatCompletionChunk['choices'][number]['delta'];

export function completionChunks(
  head: CompletionHead,
  { includesUsage, tool }: { includesUsage?: boolean | undefined; tool?: ForcedTool | undefined },
) {
  const steps = new Map<string, ReasoningStep>();
  let isCalled = false;
  const callDelta = (text: string, called: ForcedTool): Delta => {
    const call = isCalled ? { function: { arguments: text } } : callOf(head, called, text);
    isCalled = true;
    return { tool_calls: [{ index: 0, ...call }] };
  };
  const chunk = (
    delta: Delta,
    more: Partial<ChatCompletionChunk> = {},
    finish_reason: FinishReason | null = null,
  ): ChatCompletionChunk => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(includesUsage && { usage: null }),
    ...more,
  });
  const stepChunk = (step: ReasoningStep): ChatCompletionChunk => {
    steps.set(step.id, step);
    return chunk({ content: '' }, { agent_steps: [step] });
  };
  return {
    role: () => chunk({ role: 'assistant', content: '' }),
    /** For pauses, against timeouts. An SSE comment would not do, because clients ignore comments. */
    silence: () => chunk({}),
    of(event: StreamEventBody): ChatCompletionChunk[] {
      switch (event.type) {
        case 'response.output_text.delta':
          return [chunk(tool === undefined ? { content: event.delta } : callDelta(event.delta, tool))];
        case 'response.reasoning_step.start': {
          const { timestamp: started_at, ...step } = event.step;
          return [
            chunk({ reasoning_content: lineOf(step) }),
            stepChunk({ ...step, result: null, started_at, ended_at: null, token_usage: noUsage }),
          ];
        }
        case 'response.reasoning_step.end': {
          const { id, result, token_usage, timestamp: ended_at } = event.step;
          const step = steps.get(id);
          return step === undefined ? [] : [stepChunk({ ...step, result, token_usage, ended_at })];
        }
        default:
          return [];
      }
    },
    end: (finish_reason: FinishReason, usage: TokenUsage): ChatCompletionChunk[] => [
      chunk({}, {}, finishOf(finish_reason, tool)),
      ...(includesUsage ? [{ ...chunk({}), choices: [], usage: usageOf(usage) }] : []),
    ],
  };
}

export interface ImageInspector {
  /** Undefined if the bytes are no image, or one of a type that is not read. */
  inspect(bytes: Uint8Array): Promise<{ mediaType: string; width: number; height: number } | undefined>;
}

interface CompletionServices extends ChatServices {
  imageInspector: ImageInspector;
}

export type Services<Name extends keyof CompletionServices> = Pick<CompletionServices, Name>;
