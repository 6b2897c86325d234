import type { AttachmentContent, TextBounds } from './attachment-reader.ts';
import type { StoredFile } from './stored-file.ts';

/** A file as it was prepared for models, kept for as long as the file. */
export type PreparedAttachment =
  | { type: 'text'; text: string; pageOffsets: number[] }
  /** `fitted`: not the file itself but an image made from it. */
  | { type: 'image'; mediaType: string; fitted: boolean }
  | { type: 'unreadable'; reason: string };

export interface PreparedAttachments {
  /** Reads a text up to its bounds, and no further. */
  get(
    file: StoredFile,
    bounds: TextBounds,
    signal: AbortSignal,
  ): Promise<PreparedAttachment | Extract<AttachmentContent, { type: 'beginning' }> | undefined>;
  put(file: StoredFile, prepared: PreparedAttachment): Promise<void>;
  getImage(file: StoredFile): Promise<Uint8Array>;
  putImage(file: StoredFile, image: Uint8Array): Promise<void>;
}
