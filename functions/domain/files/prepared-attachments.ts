import type { AttachmentContent, TextBounds } from './attachment-reader.ts';
import type { StoredFile } from './stored-file.ts';

/** A file in the form prepared for models. It is stored as long as the file. */
export type PreparedAttachment =
  | { type: 'text'; text: string; pageOffsets: number[]; notices?: readonly string[] }
  /** `fitted`: models get a smaller image made from the file, not the file itself. */
  | { type: 'image'; mediaType: string; fitted: boolean; notices?: readonly string[] }
  | { type: 'unreadable'; reason: string };

/** Presigned addresses that write what is prepared from one file. */
export interface ResultAddresses {
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
