import * as z from 'zod';
import { externalUserId, optional } from '../fields.ts';

/** What a part of a message says is decided by its type, so every field may be missing here. */
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
  function_call: optional(z.unknown()),
  audio: optional(z.unknown()),
});

const tokens = optional(z.int().min(1));
const penalty = optional(z.number().min(-2).max(2));

/**
 * Messages of a completion and their parts together. Each wrong one is an error: 2.9 million, which fit in a body of
 * 6 MB, need 2 GB of memory.
 */
export const mostParts = 10_000;

/** OpenAI's limit of stop sequences. */
const stopSequences = 4;

/**
 * The parameters of OpenAI's chat completions that have an effect here, and those that are rejected. docs/openai.md has
 * a row for each parameter. Unknown fields are ignored.
 */
export const chatCompletionRequest = z.object({
  model: z.string(),
  messages: z.array(message).min(1, { error: 'must not be empty' }),
  stream: optional(z.boolean()),
  stream_options: optional(z.object({ include_usage: optional(z.boolean()) })),
  user: optional(externalUserId),
  temperature: optional(z.number().min(0).max(2)),
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
  tools: optional(z.unknown()),
  functions: optional(z.unknown()),
  audio: optional(z.unknown()),
  modalities: optional(z.unknown()),
  response_format: optional(z.unknown()),
  web_search_options: optional(z.unknown()),
  prediction: optional(z.unknown()),
  moderation: optional(z.unknown()),
});

export type ChatCompletionRequest = z.output<typeof chatCompletionRequest>;
export type RequestMessage = ChatCompletionRequest['messages'][number];
