import { ServiceError } from '#contract/errors.ts';
import { externalUserId } from '#contract/fields.ts';
import type { Services } from './services.ts';
import { checkExternalUser, type Workspace } from './workspace.ts';

/**
 * The caller's workspace, after the whitelist check of the external user.
 * @throws accessDenied if the workspace does not exist, clientNotAllowed (specification, section 5.4)
 */
export async function findWorkspaceFor(
  services: Services<'workspaces'>,
  workspaceId: string,
  externalUserId: string | undefined,
): Promise<Workspace> {
  const [workspace, isListed] = await Promise.all([
    services.workspaces.get(workspaceId),
    externalUserId === undefined ? false : services.workspaces.isListed(workspaceId, externalUserId),
  ]);
  if (workspace === undefined) throw new ServiceError('accessDenied', 'Access denied');
  checkExternalUser(workspace, externalUserId, isListed);
  return workspace;
}

/**
 * The whitelist check of a request whose fields are invalid. In whitelist mode the error about the user comes before
 * errors about fields.
 * @param named every value that the request gives as an external user, valid or not
 * @throws accessDenied if the workspace does not exist, clientNotAllowed (specification, section 5.4)
 */
export async function checkNamedUsers(
  services: Services<'workspaces'>,
  workspaceId: string,
  named: readonly unknown[],
): Promise<void> {
  const workspace = await services.workspaces.get(workspaceId);
  if (workspace === undefined) throw new ServiceError('accessDenied', 'Access denied');
  if (!workspace.whitelistEnabled) return;
  for (const user of new Set(named.length === 0 ? [undefined] : named)) {
    const { success, data } = externalUserId.safeParse(user);
    const isListed = success && (await services.workspaces.isListed(workspaceId, data));
    checkExternalUser(workspace, user, isListed);
  }
}
