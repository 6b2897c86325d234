import * as z from 'zod';
import { type ErrorKind, ServiceError } from './errors.ts';
import { externalUserId, optional, reasoningEffort } from './fields.ts';
import { reasoningStep } from './message.ts';
import { responseFormat } from './response-format.ts';

/** The type of a part decides which other field is read. */
const part = z.object({
  type: z.string(),
  text: optional(z.string()),
  refusal: optional(z.string()),
  image_url: optional(z.object({ url: z.string() })),
});

const message = z.object({
  role: z.string(),
  content: optional(z.union([z.string(), z.array(part)], { error: 'must be a string or an array of parts' })),
  tool_calls: optional(z.array(z.unknown())),
  tool_call_id: optional(z.unknown()),
  function_call: optional(z.unknown()),
  audio: optional(z.unknown()),
});

const tokens = optional(z.int().min(1));
const penalty = optional(z.number().min(-2).max(2));

/** Messages and their parts together. Each wrong one is an error of its own, and errors need memory. */
export const mostParts = 10_000;

/** OpenAI's limit. */
const stopSequences = 4;

/** Unknown fields are ignored. */
export const chatCompletionRequest = z.object({
  model: z.string(),
  messages: z.array(message).min(1, { error: 'must not be empty' }),
  stream: optional(z.boolean()),
  stream_options: optional(z.object({ include_usage: optional(z.boolean()) })),
  user: optional(externalUserId),
  temperature: optional(z.number().min(0).max(2)),
  reasoning_effort: optional(reasoningEffort),
  top_p: optional(z.number().min(0).max(1)),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  seed: optional(z.int()),
  stop: optional(
    z.union([z.string(), z.array(z.string()).max(stopSequences)], {
      error: `must be a string or an array of at most ${stopSequences} strings`,
    }),
  ),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  n: optional(z.number()),
  logprobs: optional(z.unknown()),
  top_logprobs: optional(z.unknown()),
  logit_bias: optional(z.unknown()),
  tools: optional(z.array(z.unknown())),
  tool_choice: optional(z.unknown()),
  functions: optional(z.unknown()),
  audio: optional(z.unknown()),
  modalities: optional(z.unknown()),
  response_format: optional(responseFormat),
  web_search_options: optional(z.unknown()),
  prediction: optional(z.unknown()),
  moderation: optional(z.unknown()),
});

export type ChatCompletionRequest = z.output<typeof chatCompletionRequest>;
export type RequestMessage = ChatCompletionRequest['messages'][number];

const completionUsage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({ cached_tokens: z.int() }),
});

const finishReason = z.enum(['stop', 'length', 'content_filter', 'tool_calls']);

const toolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const common = {
  id: z.string().startsWith('chatcmpl-'),
  created: z.int(),
  model: z.guid(),
  system_fingerprint: z.string(),
};

/** An addition to OpenAI's API. */
const agentSteps = z.array(reasoningStep).optional();

export const chatCompletion = z.object({
  ...common,
  object: z.literal('chat.completion'),
  choices: z.tuple([
    z.object({
      index: z.literal(0),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        tool_calls: z.array(toolCall).length(1).optional(),
        refusal: z.null(),
        reasoning_content: z.string().optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason,
    }),
  ]),
  usage: completionUsage,
  agent_steps: agentSteps,
});

/** `agent_steps` is beside `choices`, because OpenAI's library for Python adds up what is inside a delta. */
export const chatCompletionChunk = z.object({
  ...common,
  object: z.literal('chat.completion.chunk'),
  choices: z
    .array(
      z.object({
        index: z.literal(0),
        delta: z.object({
          role: z.literal('assistant').optional(),
          content: z.string().optional(),
          tool_calls: z
            .array(
              toolCall.partial().extend({ index: z.literal(0), function: toolCall.shape.function.partial() }),
            )
            .length(1)
            .optional(),
          reasoning_content: z.string().optional(),
        }),
        logprobs: z.null(),
        finish_reason: finishReason.nullable(),
      }),
    )
    .max(1),
  usage: completionUsage.nullable().optional(),
  agent_steps: agentSteps,
});

export type CompletionUsage = z.infer<typeof completionUsage>;
export type FinishReason = z.infer<typeof finishReason>;
export type ChatCompletion = z.infer<typeof chatCompletion>;
export type ChatCompletionChunk = z.infer<typeof chatCompletionChunk>;

/** `name` and `description` are additions. */
export const openAiModel = z.object({
  id: z.guid(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  name: z.string(),
  description: z.string(),
});

export type OpenAiModel = z.infer<typeof openAiModel>;

/** With the value `false`, OpenAI's clients for Python and JavaScript do not retry a failed request. */
export const shouldRetryHeader = 'x-should-retry';

export class OpenAiError extends ServiceError {
  readonly param: string | null;
  readonly code: string | null;
  private readonly ownStatus: number | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    options: ConstructorParameters<typeof ServiceError>[2] & {
      param?: string;
      code?: string;
      status?: number;
    } = {},
  ) {
    super(kind, message, options);
    this.param = options.param ?? null;
    this.code = options.code ?? null;
    this.ownStatus = options.status;
  }

  override get status(): number {
    return this.ownStatus ?? super.status;
  }
}

export const invalidParameter = (param: string, problem: string): OpenAiError =>
  new OpenAiError('badRequest', `${param} ${problem}`, { param });

const charactersShown = 100;

export const modelNotFound = (model: string): OpenAiError =>
  new OpenAiError(
    'notFound',
    `The model ${JSON.stringify(model.slice(0, charactersShown))} does not exist: a model is the id of a published agent, as GET /openai/models lists them`,
    { param: 'model', code: 'model_not_found' },
  );

export const invalidApiKey = () =>
  new OpenAiError(
    'unauthenticated',
    'Incorrect API key provided: send a valid key in the header Authorization, as "Bearer ak_…"',
    { code: 'invalid_api_key', status: 401 },
  );

export const openAiDisabled = () =>
  new OpenAiError(
    'accessDenied',
    'The OpenAI-compatible routes are off for this workspace: an operator turns them on with "agentctl workspaces update WORKSPACE --openai on"',
    { code: 'openai_disabled' },
  );
