import type { UploadScope } from '#contract/upload.ts';

/** An uploaded file (specification, section 2.7). The file store has its bytes, under workspace and uuid. */
export interface StoredFile {
  uuid: string;
  workspaceId: string;
  /** As the client sent it, in any script. Never used as a key or in a URL's path. */
  name: string;
  /** With its parameters, such as a charset. */
  contentType: string;
  size: number;
  scope: UploadScope;
  createdAt: string;
  /** Set for an ephemeral file; null for a persistent one. */
  expiresAt: string | null;
}

export const hasExpired = ({ expiresAt }: Pick<StoredFile, 'expiresAt'>, now: Date): boolean =>
  expiresAt !== null && new Date(expiresAt) <= now;

/** A part of a multipart form. Parts come in the order of the body. */
export type UploadPart =
  | {
      kind: 'file';
      /** Undefined if the part has no file name. */
      name: string | undefined;
      contentType: string | undefined;
      content: AsyncIterable<Uint8Array>;
    }
  | { kind: 'data'; text: string };

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
