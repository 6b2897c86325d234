import type { StoredFile } from './stored-file.ts';

/** The bytes of uploaded files. */
export interface FileStore {
  /** Starts to store a file. The bucket's lifecycle rules remove it after a day unless `complete` is called. */
  start(file: Pick<StoredFile, 'workspaceId' | 'uuid' | 'contentType'>): FileWriter;
  /** @returns the bytes in chunks; undefined if the file is no longer there */
  read(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Does nothing if the file is no longer there. */
  delete(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<void>;
  /** For a function that prepares this file, and has no other permissions. It is valid for some minutes. */
  readAddress(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<string>;
  /** A short-lived URL that downloads the file as an attachment. */
  address(file: StoredFile, now: Date): Promise<string>;
}

export interface FileWriter {
  /** Copies the bytes: the caller may reuse its buffer. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the file after its last byte. It can be read, and expires after a day unless `complete` is called. */
  end(): Promise<void>;
  /** Makes the file permanent. */
  complete(): Promise<void>;
  /** Removes everything that was stored of the file, also after `end`. */
  abort(): Promise<void>;
}
