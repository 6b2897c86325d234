import type { UploadScope } from '#contract/upload.ts';

/** An uploaded file (specification, section 2.7). The file store has its bytes, by workspace and uuid. */
export interface StoredFile {
  uuid: string;
  workspaceId: string;
  /** The name as the client sent it, in any script. It is never used as a key or in the path of a URL. */
  name: string;
  /** The content type with its parameters, such as a charset. */
  contentType: string;
  size: number;
  scope: UploadScope;
  createdAt: string;
  /** When an ephemeral file expires, ISO 8601; null for a persistent one. */
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
   * Acquires the lease of a file, if it is free or has expired.
   * @param until epoch milliseconds; `releaseLease` knows the lease by this value
   * @param now epoch milliseconds
   * @returns false if another function has the lease of the file; true also if the file does not exist
   */
  takeLease(file: FileName, until: number, now: number): Promise<boolean>;
  /** Ends a lease before its time. Does nothing if the file has another lease now. */
  releaseLease(file: FileName, until: number): Promise<void>;
}

type FileName = Pick<StoredFile, 'workspaceId' | 'uuid'>;

/** The metadata of uploaded files. */
export interface FileIndex extends PreparationLeases {
  put(file: StoredFile): Promise<void>;
  /** Undefined if the workspace has no such file. */
  get(workspaceId: string, uuid: string): Promise<StoredFile | undefined>;
  /**
   * Registers that a chat attaches the file. This comes before the message is stored, so that no erasure deletes the
   * file afterwards. It may be repeated.
   * @returns false if the file is closed or deleted; then this call has registered nothing
   */
  attach(file: StoredFile, chatId: number): Promise<boolean>;
  /** Removes the registration of a deleted chat. It may be repeated. */
  detach(file: FileName, chatId: number): Promise<void>;
  /** Whether any chat attaches the file, also a chat whose message was not stored. */
  isAttached(file: FileName): Promise<boolean>;
  /**
   * Closes the file: no further chat can attach it. A closed file is never opened again. Does nothing if the file is
   * deleted.
   */
  close(file: FileName): Promise<void>;
  /** Removes the metadata of the file, but not its bytes. */
  remove(file: FileName): Promise<void>;
}

/** The bytes of uploaded files. */
export interface FileStore {
  /** Starts to store a file. The bucket's lifecycle rules remove it later unless `complete` is called. */
  start(file: Pick<StoredFile, 'workspaceId' | 'uuid' | 'contentType'>): FileWriter;
  /** @returns the bytes in chunks; undefined if the file is no longer there */
  read(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Does nothing if the file is no longer there. */
  delete(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<void>;
  /**
   * A presigned address that reads the file, for a function that prepares it and has no other permissions. It is valid
   * for some minutes.
   */
  readAddress(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<string>;
  /** A short-lived URL that downloads the file as an attachment. */
  address(file: StoredFile, now: Date): Promise<string>;
}

export interface FileWriter {
  /** Copies the bytes: the caller may reuse its buffer. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the file after its last byte. Then it can be read. */
  end(): Promise<void>;
  /** Makes the file permanent. Called after `end`. */
  complete(): Promise<void>;
  /** Removes everything that was stored of the file, also after `end`. */
  abort(): Promise<void>;
}
