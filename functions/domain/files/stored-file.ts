import type { UploadScope } from '#contract/upload.ts';

/** An uploaded file (specification, section 2.7). The file store has its bytes. */
export interface StoredFile {
  uuid: string;
  workspaceId: string;
  /** As the client sent it. It must not be used as a key or in the path of a URL. */
  name: string;
  contentType: string;
  size: number;
  scope: UploadScope;
  createdAt: string;
  /** ISO 8601; null for a persistent file. */
  expiresAt: string | null;
}

/** A content type without its parameters, in lower case. */
export const essenceOf = (contentType: string): string =>
  (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

export const hasExpired = ({ expiresAt }: Pick<StoredFile, 'expiresAt'>, now: Date): boolean =>
  expiresAt !== null && new Date(expiresAt) <= now;

export type UploadPart =
  | {
      kind: 'file';
      name: string | undefined;
      contentType: string | undefined;
      content: AsyncIterable<Uint8Array>;
    }
  | { kind: 'data'; text: string };

export interface PreparationLeases {
  /**
   * Times are in epoch milliseconds. `releaseLease` knows the lease by `until`.
   * @returns false if the file has another lease that has not ended; true also if the file does not exist
   */
  takeLease(file: FileName, until: number, now: number): Promise<boolean>;
  /** Does nothing if the file has another lease now. */
  releaseLease(file: FileName, until: number): Promise<void>;
}

type FileName = Pick<StoredFile, 'workspaceId' | 'uuid'>;

export interface FileIndex extends PreparationLeases {
  put(file: StoredFile): Promise<void>;
  get(workspaceId: string, uuid: string): Promise<StoredFile | undefined>;
  /**
   * Comes before the message is stored, so that an erasure of the file finds the chat. It may be repeated.
   * @returns false if the file is closed or deleted
   */
  attach(file: StoredFile, chatId: number): Promise<boolean>;
  detach(file: FileName, chatId: number): Promise<void>;
  /** Whether any chat attaches the file, also one whose message was not stored. */
  isAttached(file: FileName): Promise<boolean>;
  /** After this no further chat can attach the file. Does nothing if the file is deleted. */
  close(file: FileName): Promise<void>;
  /** Removes the metadata, but not the bytes. */
  remove(file: FileName): Promise<void>;
}

export interface FileStore {
  /** The bucket's lifecycle rules remove the file later unless `complete` is called. */
  start(file: Pick<StoredFile, 'workspaceId' | 'uuid' | 'contentType'>): FileWriter;
  read(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<AsyncIterable<Uint8Array> | undefined>;
  delete(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<void>;
  /** A presigned address, for a function without permissions for buckets. */
  readAddress(file: Pick<StoredFile, 'workspaceId' | 'uuid'>): Promise<string>;
  address(file: StoredFile, now: Date): Promise<string>;
}

export interface FileWriter {
  /** Copies the bytes: when the promise resolves, the caller may reuse its buffer. */
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Makes the file permanent. Called after `end`. */
  complete(): Promise<void>;
  /** Removes what was stored of the file, also after `end`. */
  abort(): Promise<void>;
}
