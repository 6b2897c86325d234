import type { Chat } from '#domain/chats/chat.ts';

/** When a chat was last used: created, sent a message, or renamed. */
export interface ChatUse {
  chatId: number;
  /** ISO 8601. The chat may have been used since, but not before. */
  lastUse: string;
}

/**
 * The chats of the workspaces that delete unused chats, by their last known use. A chat is added when it may be unused for
 * the first time, because until then its creation is enough. A use does not change the index: a chat is moved when its
 * last known use is so old that it might be unused.
 */
export interface ChatUses {
  /** Sorted by id. */
  workspaces(): Promise<{ workspaceId: string; days: number }[]>;
  /** The next ids after those that `add` has named, ascending; without the chat if it is deleted. */
  notAdded(workspaceId: string, limit: number): Promise<{ chatId: number; chat: Chat | undefined }[]>;
  /** @param upTo `notAdded` goes on after this id */
  add(workspaceId: string, uses: readonly ChatUse[], upTo: number): Promise<void>;
  /** In pages, those that were used first come first. A chat may be listed twice. */
  before(workspaceId: string, time: string, limit: number): AsyncIterable<ChatUse[]>;
  /** Sets the last known use of listed chats. Those without one are removed. */
  replace(workspaceId: string, replaced: readonly { use: ChatUse; lastUse: string | null }[]): Promise<void>;
  /** Those of the chats that requests of open batches are to be sent to. */
  inOpenBatches(workspaceId: string, chatIds: readonly number[]): Promise<ReadonlySet<number>>;
}
