import { ServiceError } from '#contract/errors.ts';
import type { Limits } from '#contract/rate-limits.ts';

export interface Workspace {
  id: string;
  name: string;
  /** Off: every request of the workspace is answered 403/10001. */
  enabled: boolean;
  whitelistEnabled: boolean;
  titlesEnabled: boolean;
  /** `none`: nothing is limited, whatever its own limits say. */
  limits: 'default' | 'none';
  /** In place of the stage's. */
  ownLimits: Partial<Limits>;
  createdAt: string;
}

/** What the workspace is held to; null when it is to nothing. */
export const limitsOf = ({ limits, ownLimits }: Workspace, stage: Limits): Limits | null =>
  limits === 'none' ? null : { ...stage, ...ownLimits };

/**
 * Whitelist mode (specification, section 5.4).
 * @throws clientNotAllowed when the workspace is in whitelist mode and the user is missing or not on its list.
 */
export function checkExternalUser(workspace: Workspace, externalUserId: unknown, isListed: boolean): void {
  if (!workspace.whitelistEnabled) return;
  if (externalUserId === undefined || externalUserId === null)
    throw new ServiceError('clientNotAllowed', 'external_user_id is required in whitelist mode');
  if (!isListed)
    throw new ServiceError('clientNotAllowed', 'external_user_id is not on the whitelist of this workspace');
}
