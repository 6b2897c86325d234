import { ChatBatchError } from './errors.ts';
import type { Message, UploadedFile } from './schema.ts';
import type { AgentStep, ReplyMetadata } from './ui-message-stream.ts';

export interface UIFilePart {
  type: 'file';
  mediaType: string;
  filename: string;
  /** The address to download the file, valid for at most 15 minutes. */
  url: string;
  providerReference: { 'chat-batch': string };
}

export type UIMessagePart =
  | { type: 'text'; text: string }
  | { type: 'data-agent-step'; id: string; data: AgentStep }
  | UIFilePart;

export interface UIMessage {
  id: string;
  role: 'user' | 'assistant';
  metadata: ReplyMetadata;
  parts: UIMessagePart[];
}

/**
 * Turns a history into messages for the option `messages` of `useChat`. All steps are before the text, because the
 * history does not say where they were.
 * @param messages the oldest first
 */
export const toUIMessages = (messages: Iterable<Message>): UIMessage[] =>
  Array.from(messages, ({ id, role, content, attached_files, meta }) => ({
    id: String(id),
    role,
    metadata: {
      messageId: id,
      ...(meta.token_usage !== undefined && { usage: meta.token_usage }),
      ...(meta.incomplete !== undefined && { incomplete: meta.incomplete }),
      ...(meta.error !== undefined && { error: meta.error }),
    },
    parts: [
      ...attached_files.map(toUIFilePart),
      ...(meta.reasoning_steps ?? []).map(
        ({ token_usage: _, ...step }) => ({ type: 'data-agent-step', id: step.id, data: step }) as const,
      ),
      ...(content === '' ? [] : [{ type: 'text', text: content } as const]),
    ],
  }));

/** Turns an uploaded file into a part of a message: `sendMessage({ text, files: [part] })` of `useChat`. */
export const toUIFilePart = ({ uuid, original_name, content_type, file_url }: UploadedFile): UIFilePart => ({
  type: 'file',
  mediaType: content_type,
  filename: original_name,
  url: file_url,
  providerReference: { 'chat-batch': uuid },
});

export interface SentUIMessage {
  parts: readonly { type: string; text?: string; providerReference?: Readonly<Record<string, string>> }[];
}

/**
 * Returns the text and the files of a message of `useChat`, for `client.messages.send` and `stream`.
 * @throws ChatBatchError if a file part has no id of an uploaded file
 */
export function toSendParams({ parts }: SentUIMessage): { message: string; attached_file_uuids: string[] } {
  return {
    message: parts
      .flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []))
      .join(''),
    attached_file_uuids: parts
      .filter(({ type }) => type === 'file')
      .map(({ providerReference }) => {
        const uuid = providerReference?.['chat-batch'];
        if (uuid === undefined)
          throw new ChatBatchError(
            'A file of the message is not uploaded: use client.files.upload and toUIFilePart',
          );
        return uuid;
      }),
  };
}
