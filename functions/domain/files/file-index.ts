import type { StoredFile } from './stored-file.ts';

/** What is known of uploaded files. */
export interface FileIndex {
  put(file: StoredFile): Promise<void>;
  /** Undefined when the workspace has no such file. */
  get(workspaceId: string, uuid: string): Promise<StoredFile | undefined>;
}
