import type { PreparedAttachment, ResultAddresses } from './prepared-attachments.ts';

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
