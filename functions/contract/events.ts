import * as z from 'zod';
import { count, errorCode, resourceId, timestamp, uuid } from './fields.ts';
import { incomplete, reasoningStep, tokenUsage } from './message.ts';

/** Specification, section 6.1. `sequence_number` is an addition. */
const common = { response_id: z.string(), chat_id: resourceId, sequence_number: count };
const { id, content, type, args, result } = reasoningStep.shape;

const startedStep = z.object({ id, content, type, args, timestamp }).meta({ id: 'StartedReasoningStep' });

const endedStep = z
  .object({ id, type, result: result.unwrap(), timestamp, token_usage: tokenUsage })
  .meta({ id: 'EndedReasoningStep' });

const event = <Type extends string, Fields extends z.core.$ZodLooseShape>(
  id: string,
  type: Type,
  fields: Fields,
) => z.object({ type: z.literal(type), ...common, ...fields }).meta({ id });

/** Specification, section 6.1, with additions. */
export const streamEvent = z
  .discriminatedUnion('type', [
    event('ResponseCreatedEvent', 'response.created', {
      message_id: resourceId,
      agent_id: uuid,
      model: z.string(),
    }),
    event('ResponseChatTitleUpdatedEvent', 'response.chat.title.updated', { name: z.string() }),
    event('ResponseReasoningStepStartEvent', 'response.reasoning_step.start', { step: startedStep }),
    event('ResponseReasoningStepEndEvent', 'response.reasoning_step.end', { step: endedStep }),
    event('ResponseOutputTextDeltaEvent', 'response.output_text.delta', { delta: z.string() }),
    event('ResponseOutputTextCompletedEvent', 'response.output_text.completed', {
      message_id: resourceId,
      final_text: z.string(),
      usage: tokenUsage,
      incomplete: incomplete.optional(),
      model: z.string().optional(),
    }),
    event('ResponseErrorEvent', 'response.error', { message: z.string(), code: errorCode }),
  ])
  .meta({ id: 'StreamEvent' });

export type StreamEvent = z.infer<typeof streamEvent>;

type WithoutCommon<Event> = Event extends StreamEvent ? Omit<Event, keyof typeof common> : never;
export type StreamEventBody = WithoutCommon<StreamEvent>;

/** Some readers, such as Python's `splitlines`, take these characters for the end of a line. */
const lineSeparators = /[\u0085\u2028\u2029]/g;

export const jsonLine = (value: unknown): string =>
  JSON.stringify(value).replace(
    lineSeparators,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export const eventText = (event: { type: StreamEvent['type'] }): string =>
  `event: ${event.type}\ndata: ${jsonLine(event)}\n\n`;

/** A stream of `StreamEvent`s that ends without this is incomplete. */
export const endOfStream = 'data: [DONE]\n\n';

export const eventOf = (text: string): StreamEvent =>
  JSON.parse(text.slice(text.indexOf('\ndata: ') + '\ndata: '.length)) as StreamEvent;
