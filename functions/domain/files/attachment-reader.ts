import type { StoredFile } from './stored-file.ts';

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
