import type { UploadScope } from '#contract/upload.ts';

/** An uploaded file (specification, section 2.7). Its bytes are the file store's, found by workspace and uuid. */
export interface StoredFile {
  uuid: string;
  workspaceId: string;
  /** As the client gave it: any script, never a key or part of an address. */
  name: string;
  /** With its parameters, such as a charset. */
  contentType: string;
  size: number;
  scope: UploadScope;
  createdAt: string;
  /** Of an ephemeral file; null for one that stays. */
  expiresAt: string | null;
}

export const hasExpired = ({ expiresAt }: Pick<StoredFile, 'expiresAt'>, now: Date): boolean =>
  expiresAt !== null && new Date(expiresAt) <= now;
