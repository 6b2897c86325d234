import type { StoredFile } from './stored-file.ts';

/** The metadata of uploaded files. */
export interface FileIndex {
  put(file: StoredFile): Promise<void>;
  /** Undefined if the workspace has no such file. */
  get(workspaceId: string, uuid: string): Promise<StoredFile | undefined>;
  /**
   * Registers that a file is attached in a chat: before the message is stored, so that no purge erases the file after
   * that. It may be repeated. While an erasure of the file is not decided, it waits for about half a second.
   * @returns false if the file was erased, or is being erased. Then nothing is registered.
   */
  attach(file: StoredFile, chatId: number): Promise<boolean>;
}
