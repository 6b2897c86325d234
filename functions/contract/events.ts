import * as z from 'zod';
import { uuid } from './fields.ts';
import { incomplete } from './incomplete.ts';
import { reasoningStep, tokenUsage } from './message.ts';

/** Fields of every event's payload (specification, section 6.1). `sequence_number` is an addition. */
const common = {
  response_id: z.string(),
  chat_id: z.int(),
  sequence_number: z.int().meta({ description: 'Counts the events of the stream from 0.' }),
};
const step = reasoningStep.shape;
const messageId = z.int().meta({ description: 'Id of the reply in the history, needed for feedback on it.' });

/** One schema for each event of a streamed reply (specification, section 6.1). */
export const streamEvent = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('response.created'),
      ...common,
      message_id: messageId,
      agent_id: uuid,
      model: z.string(),
    }),
    z.object({ type: z.literal('response.chat.title.updated'), ...common, name: z.string() }),
    z.object({
      type: z.literal('response.reasoning_step.start'),
      ...common,
      step: z.object({
        id: step.id,
        content: step.content,
        type: step.type,
        args: step.args,
        timestamp: step.started_at,
      }),
    }),
    z.object({
      type: z.literal('response.reasoning_step.end'),
      ...common,
      step: z.object({
        id: step.id,
        type: step.type,
        result: step.result.unwrap(),
        timestamp: step.started_at,
        token_usage: tokenUsage,
      }),
    }),
    z.object({ type: z.literal('response.output_text.delta'), ...common, delta: z.string() }),
    z.object({
      type: z.literal('response.output_text.completed'),
      ...common,
      message_id: messageId,
      final_text: z.string(),
      usage: tokenUsage,
      incomplete: incomplete.optional(),
    }),
    z.object({ type: z.literal('response.error'), ...common, message: z.string(), code: z.int() }),
  ])
  .meta({ id: 'StreamEvent' });

export type StreamEvent = z.infer<typeof streamEvent>;

type WithoutCommon<Event> = Event extends StreamEvent ? Omit<Event, keyof typeof common> : never;
/** An event without the fields that the stream adds to every event. */
export type StreamEventBody = WithoutCommon<StreamEvent>;
