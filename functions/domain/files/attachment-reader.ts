import type { StoredFile } from './stored-file.ts';

/** How much of a text is wanted, in characters. */
export interface TextBounds {
  /** A text of so many is wanted as a whole. */
  whole: number;
  /** So many of a longer one. */
  start: number;
}

/** What a model can be given of a file. */
export type AttachmentContent =
  | {
      type: 'text';
      text: string /** Where each page or slide begins; empty without pages. */;
      pageOffsets: number[];
    }
  /** Of a text that is longer than is wanted as a whole. */
  | {
      type: 'beginning';
      text: string /** Undefined when only reading to its end would tell. */;
      characters?: number;
    }
  | { type: 'image'; bytes: Uint8Array; mediaType: string }
  /** Why there is nothing, in words that go behind the file's name. */
  | { type: 'unreadable'; reason: string };

export interface AttachmentReader {
  /** Reads no more of a file than is wanted. Whatever is wrong with the file is a content too. */
  read(file: StoredFile, bounds: TextBounds, signal: AbortSignal): Promise<AttachmentContent>;
}
