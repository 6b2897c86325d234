import type { StoredFile } from '../stored-file.ts';

/** A file as it was prepared for models, kept for as long as the file. */
export type PreparedAttachment =
  | { type: 'text'; text: string; pageOffsets: number[] }
  /** `fitted`: not the file itself but an image made from it. */
  | { type: 'image'; mediaType: string; fitted: boolean }
  | { type: 'unreadable'; reason: string };

export interface PreparedAttachments {
  get(file: StoredFile): Promise<PreparedAttachment | undefined>;
  put(file: StoredFile, prepared: PreparedAttachment): Promise<void>;
  getImage(file: StoredFile): Promise<Uint8Array>;
  putImage(file: StoredFile, image: Uint8Array): Promise<void>;
}
