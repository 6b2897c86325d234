import type { UploadScope } from '#contract/upload.ts';
import type { WorkspaceServices } from '#domain/workspaces/workspace.ts';

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

export interface ContentDetector {
  /** Empty if the bytes are of no known type. */
  detect(start: Uint8Array): string[];
}

/** In characters. A text of at most `whole` is read completely, of a longer one only its start. */
export interface TextBounds {
  whole: number;
  start: number;
}

export type AttachmentContent =
  | ({ type: 'text' } & Omit<ExtractedText, 'contentType'>)
  | {
      type: 'beginning';
      text: string;
      /** Undefined if the length of the whole text is unknown. */
      characters?: number;
      notices?: readonly string[];
    }
  | { type: 'image'; bytes: Uint8Array; mediaType: string; notices?: readonly string[] }
  /** `reason` is a phrase that follows the file's name, such as `is no longer there`. */
  | { type: 'unreadable'; reason: string };

export interface AttachmentReader {
  /**
   * For a file that can never be read, the content is the reason.
   * @throws the signal's reason; Error if the file cannot be read now
   */
  read(file: StoredFile, bounds: TextBounds, signal: AbortSignal): Promise<AttachmentContent>;
}

/** Amazon Bedrock's limit for an image. */
export const preparedImageBytes = 3.75 * 1024 * 1024;

export interface ImageFitter {
  /**
   * @returns null if models can get the image as it is
   * @throws ExtractionFailure if the image cannot be read or shrunk
   */
  fit(image: {
    bytes: Uint8Array;
    mediaType: string;
  }): Promise<{ bytes: Uint8Array; mediaType: string; notices?: readonly string[] } | null>;
}

export interface SourceDocument {
  name: string;
  /** Determines the format if the extension of the name is unknown. May name the charset, whatever the extension is. */
  contentType?: string;
  bytes: Uint8Array;
}

export interface ExtractedText {
  text: string;
  contentType: string;
  /** Where each page of a PDF, or each slide, starts in the text; empty for other files. */
  pageOffsets: number[];
  /** What is missing in the text, or uncertain. Each notice is a phrase, such as `left out: 2 pictures`. */
  notices?: readonly string[];
}

export interface TextExtractor {
  /**
   * Does not fetch what the document links to.
   * @throws ExtractionFailure if the document cannot be read or has no text; the signal's reason
   */
  extract(document: SourceDocument, signal?: AbortSignal): Promise<ExtractedText>;
}

export type ExtractionFailureKind =
  | 'unsupported'
  | 'unreadable'
  | 'tooLarge'
  | 'tooSlow'
  | 'encrypted'
  | 'empty';

/** The message is a phrase that follows the file's name, such as `has no text`. */
export class ExtractionFailure extends Error {
  override readonly name = 'ExtractionFailure';
  readonly kind: ExtractionFailureKind;

  constructor(kind: ExtractionFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Anyone who has a presigned address can send its request, so it must not be logged. */
export interface PreparationAddresses extends ResultAddresses {
  file: string;
}

/** For the function that reads hostile files: it has no permissions for buckets. */
export interface Preparation {
  readFile(addresses: PreparationAddresses): Promise<Uint8Array | undefined>;
  putContent(addresses: PreparationAddresses, prepared: PreparedAttachment): Promise<void>;
  putImage(addresses: PreparationAddresses, image: Uint8Array): Promise<void>;
}

export type PreparedAttachment =
  | Extract<AttachmentContent, { type: 'text' | 'unreadable' }>
  /** `fitted`: models get an image that was made from the file, and not the file itself. */
  | { type: 'image'; mediaType: string; fitted: boolean; notices?: readonly string[] };

interface ResultAddresses {
  content: string;
  image: string;
}

export interface PreparedAttachments {
  get(
    file: StoredFile,
    bounds: TextBounds,
    signal: AbortSignal,
  ): Promise<PreparedAttachment | Extract<AttachmentContent, { type: 'beginning' }> | undefined>;
  put(file: StoredFile, prepared: PreparedAttachment): Promise<void>;
  /** The image must have been prepared with `fitted`. */
  getImage(file: StoredFile): Promise<Uint8Array>;
  /** For a function without permissions for buckets. The addresses are valid for some minutes. */
  writeAddresses(file: StoredFile): Promise<ResultAddresses>;
  delete(file: Pick<StoredFile, 'workspaceId' | 'uuid' | 'scope'>): Promise<void>;
}

export interface FileServices extends WorkspaceServices {
  attachments: AttachmentReader;
  contentDetector: ContentDetector;
  fileIndex: FileIndex;
  files: FileStore;
  imageFitter: ImageFitter;
  preparation: Preparation;
  preparedAttachments: PreparedAttachments;
  textExtractor: TextExtractor;
}

export type Services<Name extends keyof FileServices> = Pick<FileServices, Name>;
