import type { StoredFile } from './stored-file.ts';

/** Lets one of several functions prepare a file. */
export interface PreparationLeases {
  /**
   * @param until epoch milliseconds, another value for each attempt
   * @returns false if another function has the lease of the file; true also if there is no such file
   */
  takeLease(file: FileName, until: number, now: number): Promise<boolean>;
  /** Ends a lease before its time. */
  releaseLease(file: FileName, until: number): Promise<void>;
}

type FileName = Pick<StoredFile, 'workspaceId' | 'uuid'>;

/** The metadata of uploaded files. */
export interface FileIndex extends PreparationLeases {
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
