import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { ContentDetector } from './check-upload.ts';
import type { FileIndex, FileStore, StoredFile } from './stored-file.ts';

/** How much of a text to read, in characters. */
export interface TextBounds {
  /** A text of at most this length is read completely. */
  whole: number;
  /** Of a longer text, only this many characters from its start are read. */
  start: number;
}

/** The content of a file in a form that models accept. */
export type AttachmentContent =
  | {
      type: 'text';
      text: string;
      /** The offset in the text at which each page or slide starts; empty for a file without pages. */
      pageOffsets: number[];
      /** What models are told about the content, as in `ExtractedText`. */
      notices?: readonly string[];
    }
  /** The start of a text that is longer than `TextBounds.whole`. */
  | {
      type: 'beginning';
      text: string;
      /** Length of the whole text; undefined if it is unknown because the text was not read to its end. */
      characters?: number;
      notices?: readonly string[];
    }
  | { type: 'image'; bytes: Uint8Array; mediaType: string; notices?: readonly string[] }
  /** `reason` is a phrase that follows the file's name, such as `is no longer there`. */
  | { type: 'unreadable'; reason: string };

export interface AttachmentReader {
  /**
   * Reads the content of a file; of a text, about as much as the bounds need. For a file that can never be read, it
   * returns content with the reason and does not throw.
   * @throws the signal's reason; Error if the file cannot be read now
   */
  read(file: StoredFile, bounds: TextBounds, signal: AbortSignal): Promise<AttachmentContent>;
}

/** Maximum number of bytes of a prepared image: Amazon Bedrock's limit, the smallest that is known of a provider. */
export const preparedImageBytes = 3.75 * 1024 * 1024;

export interface ImageFitter {
  /**
   * Shrinks an image to the smallest limits that are known of providers, in bytes and in pixels. Also turns it upright,
   * unless it is too large to be decoded, and takes the first frame of an animation.
   * @returns null if models can get the image as it is
   * @throws ExtractionFailure if the image cannot be read or shrunk
   */
  fit(image: {
    bytes: Uint8Array;
    mediaType: string;
  }): Promise<{ bytes: Uint8Array; mediaType: string; notices?: readonly string[] } | null>;
}

export interface SourceDocument {
  /** The extension determines the format. */
  name: string;
  /** Determines the format if the extension is unknown. Its charset, if it has one, always applies. */
  contentType?: string;
  bytes: Uint8Array;
}

export interface ExtractedText {
  text: string;
  contentType: string;
  /** The offset in the text at which each page or slide starts; empty for a format without pages. */
  pageOffsets: number[];
  /**
   * What is missing in the text, or uncertain. Each notice is a phrase, such as `left out: 2 pictures` or
   * `page 2 cannot be read`. Undefined if there is no notice.
   */
  notices?: readonly string[];
}

export interface TextExtractor {
  /**
   * The readable text of a document. Never fetches what the document links to.
   * @throws ExtractionFailure if the document cannot be read or has no text
   */
  extract(document: SourceDocument, signal?: AbortSignal): Promise<ExtractedText>;
}

export type ExtractionFailureKind =
  /** The format is not supported. */
  | 'unsupported'
  /** The file is broken, or its format differs from its extension. */
  | 'unreadable'
  /** The file, or its expanded content, exceeds a limit. */
  | 'tooLarge'
  | 'tooSlow'
  | 'encrypted'
  /** The file contains no text, for example a scanned page. */
  | 'empty';

/** Why a file could not be read. The message is a phrase that follows the file's name, such as `has no text`. */
export class ExtractionFailure extends Error {
  override readonly name = 'ExtractionFailure';
  readonly kind: ExtractionFailureKind;

  constructor(kind: ExtractionFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/**
 * The presigned addresses of one file and of its results. Anyone who has an address can send its request, so it must
 * not be logged.
 */
export interface PreparationAddresses extends ResultAddresses {
  /** Reads the file. */
  file: string;
}

/** Access by presigned addresses, for the function that reads hostile files: it has no other permissions. */
export interface Preparation {
  /** Reads the bytes of the file. Undefined if the file is no longer there. */
  readFile(addresses: PreparationAddresses): Promise<Uint8Array | undefined>;
  putContent(addresses: PreparationAddresses, prepared: PreparedAttachment): Promise<void>;
  putImage(addresses: PreparationAddresses, image: Uint8Array): Promise<void>;
}

/** A file in the form prepared for models. It is stored about as long as the file. */
export type PreparedAttachment =
  | Extract<AttachmentContent, { type: 'text' | 'unreadable' }>
  /** `fitted`: whether models get a smaller image that was made from the file, and not the file itself. */
  | { type: 'image'; mediaType: string; fitted: boolean; notices?: readonly string[] };

/** Presigned addresses to which the content prepared from one file is written. */
interface ResultAddresses {
  content: string;
  /** For the smaller image. */
  image: string;
}

export interface PreparedAttachments {
  /** Reads a text only up to its bounds. Undefined if there is no prepared content. */
  get(
    file: StoredFile,
    bounds: TextBounds,
    signal: AbortSignal,
  ): Promise<PreparedAttachment | Extract<AttachmentContent, { type: 'beginning' }> | undefined>;
  put(file: StoredFile, prepared: PreparedAttachment): Promise<void>;
  /** The smaller image that was made from the file, if it was prepared with `fitted`. */
  getImage(file: StoredFile): Promise<Uint8Array>;
  /** Addresses for a function that prepares this file and has no other permissions. They are valid for some minutes. */
  writeAddresses(file: StoredFile): Promise<ResultAddresses>;
  /** Deletes the content and the image, if they are there. */
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

/** The named services: those that a use case needs. */
export type Services<Name extends keyof FileServices> = Pick<FileServices, Name>;
