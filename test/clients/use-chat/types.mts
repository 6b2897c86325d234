import { type ReplyStream, toUIMessageStream } from '@chat-batch/client';
import { createUIMessageStreamResponse } from 'ai';

/** The AI SDK takes the stream as its own type. */
export const respond = (reply: ReplyStream): Response =>
  createUIMessageStreamResponse({ stream: toUIMessageStream(reply) });
