import type { Purge } from '#domain/chats/purge.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

export type FileOfChat = Pick<StoredFile, 'uuid' | 'scope'>;

export interface RequestOfChat {
  batchId: string;
  requestIndex: number;
}

/** What is stored of a deleted chat. Each call may be repeated. */
export interface ChatTraces {
  /** The requests of batches that have created the chat, or were sent to it, in pages. */
  requests(chat: Purge): AsyncIterable<RequestOfChat[]>;
  removeRequests(chat: Purge, requests: readonly RequestOfChat[]): Promise<void>;
  /**
   * Deletes messages, with their texts, the events of replies, feedback, and the entries of ratings that users have.
   * @returns false if the time was over before the end
   */
  deleteMessages(chat: Purge, hasTime: () => boolean): Promise<boolean>;
  /** The files that are registered in the chat, in pages. */
  files(chat: Purge): AsyncIterable<FileOfChat[]>;
  removeFiles(chat: Purge, files: readonly FileOfChat[]): Promise<void>;
}
