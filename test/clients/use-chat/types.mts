import type { useChat } from '@ai-sdk/react';
import {
  type Message,
  type ReplyStream,
  toSendParams,
  toUIFilePart,
  toUIMessageStream,
  toUIMessages,
  type UploadedFile,
} from '@chat-batch/client';
import { createUIMessageStreamResponse, type UIMessage } from 'ai';

/** The AI SDK takes what the library makes as its own types, and the other way round. */
export const respond = (reply: ReplyStream): Response =>
  createUIMessageStreamResponse({ stream: toUIMessageStream(reply) });
export const historyOf = (messages: Message[]): UIMessage[] => toUIMessages(messages);
export const send = (chat: ReturnType<typeof useChat>, text: string, file: UploadedFile) =>
  chat.sendMessage({ text, files: [toUIFilePart(file)] });
export const paramsOf = (message: UIMessage) => toSendParams(message);
