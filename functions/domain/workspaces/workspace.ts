import { ServiceError } from '#contract/errors.ts';
import type { Limits } from '#contract/rate-limits.ts';

export interface Workspace {
  id: string;
  name: string;
  /** If false, every request of the workspace gets 403/10001. */
  enabled: boolean;
  whitelistEnabled: boolean;
  titlesEnabled: boolean;
  /** The workspace may use the OpenAI-compatible routes. Their callers write instructions and earlier replies themselves. */
  openAiEnabled: boolean;
  /** `none` switches all limits off, including `ownLimits`. */
  limits: 'default' | 'none';
  /** Override the stage's limits. */
  ownLimits: Partial<Limits>;
  /** Chats that are unused for longer are deleted; null for never. */
  retentionDays: number | null;
  createdAt: string;
}

/** The limits that apply to the workspace; null if it has none. */
export const limitsOf = ({ limits, ownLimits }: Workspace, stage: Limits): Limits | null =>
  limits === 'none' ? null : { ...stage, ...ownLimits };

/**
 * Whitelist mode (specification, section 5.4).
 * @throws clientNotAllowed if the workspace is in whitelist mode and the user is missing or not on its list.
 */
export function checkExternalUser(workspace: Workspace, externalUserId: unknown, isListed: boolean): void {
  if (!workspace.whitelistEnabled) return;
  if (externalUserId === undefined || externalUserId === null)
    throw new ServiceError('clientNotAllowed', 'external_user_id is required in whitelist mode');
  if (!isListed)
    throw new ServiceError('clientNotAllowed', 'external_user_id is not on the whitelist of this workspace');
}
