import type { ReplyError, StreamEvent, TokenUsage } from './schema.ts';

/**
 * The data of the part `data-agent-step`. The part at the end of a step replaces the one at its start, which has the
 * same `id`.
 */
export interface AgentStep {
  id: string;
  type: string;
  content: string;
  args: Record<string, unknown>;
  started_at: string;
  /** Null if the step has not ended. */
  ended_at: string | null;
  result: { success: boolean; data?: unknown } | null;
}

export interface ReplyMetadata {
  chatId?: number;
  messageId?: number;
  responseId?: string;
  usage?: TokenUsage;
  /** Why the reply was cut short without an error, such as `stopped`. */
  incomplete?: string;
  /** Only in messages of the history. */
  error?: ReplyError;
}

export type UIMessageChunk =
  | { type: 'start'; messageId: string; messageMetadata: ReplyMetadata }
  | { type: 'text-start' | 'text-end'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'data-agent-step'; id: string; data: AgentStep }
  | { type: 'data-chat-title'; data: { name: string }; transient: true }
  | { type: 'error'; errorText: string }
  | { type: 'finish'; finishReason: 'stop' | 'length'; messageMetadata: ReplyMetadata };

export interface UIMessageStreamOptions {
  /**
   * Returns the text that the page gets for an error that `events` throws; by default the error's message. Not called
   * for a `response.error` that `events` yields; a `ReplyStream` throws an error in its place.
   */
  onError?: (error: unknown) => string;
}

/**
 * Turns a streamed reply into the UI message stream that `useChat` of the AI SDK reads. Give the result to
 * `createUIMessageStreamResponse` of the package `ai`.
 */
export const toUIMessageStream = (
  events: AsyncIterable<StreamEvent>,
  { onError = messageOf }: UIMessageStreamOptions = {},
): ReadableStream<UIMessageChunk> => {
  const iterator = events[Symbol.asyncIterator]();
  const chunks = chunksOf({ [Symbol.asyncIterator]: () => iterator }, onError);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function* chunksOf(
  events: AsyncIterable<StreamEvent>,
  onError: (error: unknown) => string,
): AsyncGenerator<UIMessageChunk, undefined> {
  const steps = new Map<string, AgentStep>();
  let texts = 0;
  let isTextOpen = false;
  const textId = () => `text-${texts}`;
  try {
    for await (const event of events) {
      if (event.type === 'response.output_text.delta') {
        if (!isTextOpen) {
          texts += 1;
          yield { type: 'text-start', id: textId() };
        }
        isTextOpen = true;
        yield { type: 'text-delta', id: textId(), delta: event.delta };
        continue;
      }
      if (isTextOpen && endsText.has(event.type)) {
        yield { type: 'text-end', id: textId() };
        isTextOpen = false;
      }
      const chunk = chunkOf(event, steps);
      if (chunk !== undefined) yield chunk;
    }
  } catch (error) {
    if (isTextOpen) yield { type: 'text-end', id: textId() };
    yield { type: 'error', errorText: onError(error) };
  }
}

const endsText: ReadonlySet<string> = new Set<StreamEvent['type']>([
  'response.reasoning_step.start',
  'response.output_text.completed',
  'response.error',
]);

function chunkOf(event: StreamEvent, steps: Map<string, AgentStep>): UIMessageChunk | undefined {
  switch (event.type) {
    case 'response.created': {
      const { chat_id: chatId, message_id: messageId, response_id: responseId } = event;
      return {
        type: 'start',
        messageId: String(messageId),
        messageMetadata: { chatId, messageId, responseId },
      };
    }
    case 'response.chat.title.updated':
      return { type: 'data-chat-title', data: { name: event.name }, transient: true };
    case 'response.reasoning_step.start': {
      const { timestamp, ...rest } = event.step;
      const step: AgentStep = { ...rest, started_at: timestamp, ended_at: null, result: null };
      steps.set(step.id, step);
      return { type: 'data-agent-step', id: step.id, data: step };
    }
    case 'response.reasoning_step.end': {
      const { id, result, timestamp } = event.step;
      const started = steps.get(id);
      if (started === undefined) return undefined;
      return { type: 'data-agent-step', id, data: { ...started, result, ended_at: timestamp } };
    }
    case 'response.output_text.completed': {
      const { incomplete, usage } = event;
      const finishReason = incomplete === 'max_output_tokens' ? 'length' : 'stop';
      return {
        type: 'finish',
        finishReason,
        messageMetadata: { usage, ...(incomplete !== undefined && { incomplete }) },
      };
    }
    case 'response.error':
      return { type: 'error', errorText: event.message };
    default:
      return undefined;
  }
}
