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
   * Registers that a file is attached in a chat: before the message is stored, so that no erasure deletes the file after
   * that. It may be repeated.
   * @returns false if the file is closed or gone. Then nothing is registered.
   */
  attach(file: StoredFile, chatId: number): Promise<boolean>;
  /** Registers that the chat attaches the file no more. */
  detach(file: FileName, chatId: number): Promise<void>;
  isAttached(file: FileName): Promise<boolean>;
  /** From now on, no chat attaches the file. Nothing takes that back. Does nothing if the file is gone. */
  close(file: FileName): Promise<void>;
  /** Removes the metadata. */
  remove(file: FileName): Promise<void>;
}
