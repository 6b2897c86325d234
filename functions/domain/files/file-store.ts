import type { StoredFile } from './stored-file.ts';

/** The bytes of uploaded files. */
export interface FileStore {
  /** Begins to store a file. Until it is kept, it is swept away should nobody go on. */
  start(file: Pick<StoredFile, 'workspaceId' | 'uuid' | 'contentType'>): FileWriter;
  /**
   * @returns the bytes, piece by piece; undefined when there are none any more
   */
  read(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** An address that downloads the file as an attachment, for a short time. */
  address(file: StoredFile, now: Date): Promise<string>;
}

export interface FileWriter {
  /** Takes a copy: the bytes may be reused. */
  write(bytes: Uint8Array): Promise<void>;
  /** All bytes are written. The file is there, and goes after a day unless it is kept. */
  end(): Promise<void>;
  /** Lets the file stay for good. */
  complete(): Promise<void>;
  /** Leaves nothing of the file, at whatever point it is. */
  abort(): Promise<void>;
}
