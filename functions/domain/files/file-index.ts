import type { StoredFile } from './stored-file.ts';

/** The metadata of uploaded files. */
export interface FileIndex {
  put(file: StoredFile): Promise<void>;
  /** Undefined if the workspace has no such file. */
  get(workspaceId: string, uuid: string): Promise<StoredFile | undefined>;
}
