import * as z from 'zod';
import { reasoningStep } from '../message.ts';

export const completionUsage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
});

export const finishReason = z.enum(['stop', 'length', 'content_filter']);

const common = {
  id: z.string().startsWith('chatcmpl-'),
  created: z.int(),
  model: z.guid(),
  system_fingerprint: z.string(),
};

/** `reasoning_content` and `agent_steps` are additions: what the steps say, and the steps themselves. */
const agentSteps = z.array(reasoningStep).optional();

export const chatCompletion = z.object({
  ...common,
  object: z.literal('chat.completion'),
  choices: z.tuple([
    z.object({
      index: z.literal(0),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string(),
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

/** The steps are beside `choices`: Python's helper adds up what is inside a delta. */
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
