import type { UploadScope } from '#contract/upload.ts';

/** An uploaded file (specification, section 2.7). The file store has its bytes, under workspace and uuid. */
export interface StoredFile {
  uuid: string;
  workspaceId: string;
  /** As the client sent it, in any script. Never used as a key or in a URL's path. */
  name: string;
  /** With its parameters, such as a charset. */
  contentType: string;
  size: number;
  scope: UploadScope;
  createdAt: string;
  /** Set for an ephemeral file; null for a persistent one. */
  expiresAt: string | null;
}

export const hasExpired = ({ expiresAt }: Pick<StoredFile, 'expiresAt'>, now: Date): boolean =>
  expiresAt !== null && new Date(expiresAt) <= now;
