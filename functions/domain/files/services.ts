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
      /** Where each page or slide starts; empty without pages. */
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
  /** The reason is a phrase that follows the file's name, such as `is no longer there`. */
  | { type: 'unreadable'; reason: string };

export interface AttachmentReader {
  /** Reads no more of a file than the bounds need. A file that cannot be read is a content too, not an error. */
  read(file: StoredFile, bounds: TextBounds, signal: AbortSignal): Promise<AttachmentContent>;
}

/** Maximum size of a prepared image: Amazon Bedrock's limit, the smallest of all providers. */
export const preparedImageBytes = 3.75 * 1024 * 1024;

export interface ImageFitter {
  /**
   * Shrinks an image to the smallest limits of all providers, in bytes and in pixels, turns it upright, and takes the first
   * frame of an animated one.
   * @returns null if models can get the image as it is
   * @throws ExtractionFailure if the image cannot be shrunk
   */
  fit(image: {
    bytes: Uint8Array;
    mediaType: string;
  }): Promise<{ bytes: Uint8Array; mediaType: string; notices?: readonly string[] } | null>;
}

export interface SourceDocument {
  /** Its extension determines the format. */
  name: string;
  /** Determines the format if the extension is unknown. */
  contentType?: string;
  bytes: Uint8Array;
}

export interface ExtractedText {
  text: string;
  contentType: string;
  /** Where each page or slide starts in the text; empty for a format without pages. */
  pageOffsets: number[];
  /**
   * What the text lacks of the document, or what is uncertain in it. Each is a phrase, such as `left out: 2 pictures` or
   * `page 2 cannot be read`. Missing if there is nothing to say.
   */
  notices?: readonly string[];
}

export interface TextExtractor {
  /**
   * The readable text of a document. Never fetches what the document links to.
   * @throws ExtractionFailure
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

/** Why a document could not be read. The message is a phrase that follows the file's name, such as `has no text`. */
export class ExtractionFailure extends Error {
  override readonly name = 'ExtractionFailure';
  readonly kind: ExtractionFailureKind;

  constructor(kind: ExtractionFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/**
 * The presigned addresses of one file and of its results. Whoever has an address can send its request, so no log names
 * one.
 */
export interface PreparationAddresses extends ResultAddresses {
  /** Reads the file. */
  file: string;
}

/** What a function may access that reads hostile files: it has no other permissions than these addresses. */
export interface Preparation {
  /** @returns undefined if the file is no longer there */
  readFile(addresses: PreparationAddresses): Promise<Uint8Array | undefined>;
  putContent(addresses: PreparationAddresses, prepared: PreparedAttachment): Promise<void>;
  putImage(addresses: PreparationAddresses, image: Uint8Array): Promise<void>;
}

/** A file in the form prepared for models. It is stored as long as the file. */
export type PreparedAttachment =
  | { type: 'text'; text: string; pageOffsets: number[]; notices?: readonly string[] }
  /** `fitted`: models get a smaller image made from the file, not the file itself. */
  | { type: 'image'; mediaType: string; fitted: boolean; notices?: readonly string[] }
  | { type: 'unreadable'; reason: string };

/** Presigned addresses that write what is prepared from one file. */
interface ResultAddresses {
  content: string;
  /** For the smaller image. */
  image: string;
}

export interface PreparedAttachments {
  /** Reads a text only up to its bounds. Undefined if the file was not prepared yet. */
  get(
    file: StoredFile,
    bounds: TextBounds,
    signal: AbortSignal,
  ): Promise<PreparedAttachment | Extract<AttachmentContent, { type: 'beginning' }> | undefined>;
  put(file: StoredFile, prepared: PreparedAttachment): Promise<void>;
  getImage(file: StoredFile): Promise<Uint8Array>;
  /** For a function that prepares this file, and has no other permissions. They are valid for some minutes. */
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

/** What a use case needs of them. */
export type Services<Name extends keyof FileServices> = Pick<FileServices, Name>;
