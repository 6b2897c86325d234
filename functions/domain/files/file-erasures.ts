import type { StoredFile } from './stored-file.ts';

type FileName = Pick<StoredFile, 'workspaceId' | 'uuid'>;

/**
 * `confirmed`: an erasure of the file was confirmed before; `gone`: the file has no metadata any more; `not-indexed`: an
 * earlier version stored the file, so it may be attached in chats that are not registered.
 */
export type ErasureStart = 'started' | 'confirmed' | 'gone' | 'not-indexed';

/** The chats in which files are attached, and the erasures of files. An erasure has an id of its own. */
export interface FileErasures {
  /** Registers that the chat attaches the file no more. */
  detach(file: FileName, chatId: number): Promise<void>;
  isAttached(file: FileName): Promise<boolean>;
  /** Replaces another erasure of the file that is not confirmed: that one can no longer confirm or cancel. */
  start(file: FileName, id: string): Promise<ErasureStart>;
  cancel(file: FileName, id: string): Promise<void>;
  /**
   * From now on, nothing cancels an erasure of the file.
   * @returns false if another erasure has replaced this one, or was cancelled
   */
  confirm(file: FileName, id: string): Promise<boolean>;
  /** Removes the metadata. */
  finish(file: FileName): Promise<void>;
}
