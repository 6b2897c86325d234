import type { StoredFile } from '../stored-file.ts';

/** What a model can be given of a file. */
export type AttachmentContent =
  | {
      type: 'text';
      text: string /** Where each page or slide begins; empty without pages. */;
      pageOffsets: number[];
    }
  | { type: 'image'; bytes: Uint8Array; mediaType: string }
  /** Why there is nothing, in words that go behind the file's name. */
  | { type: 'unreadable'; reason: string };

export interface AttachmentReader {
  /** Reads a file once, however often it is asked for. Whatever is wrong with the file is a content too. */
  read(file: StoredFile, signal: AbortSignal): Promise<AttachmentContent>;
}
