import { ServiceError } from '#contract/errors.ts';
import type { Services } from './services.ts';
import { admitExternalUser, type Workspace } from './workspace.ts';

/**
 * The caller's workspace, once its whitelist has let the external user in.
 * @throws clientNotAllowed (specification, section 5.4)
 */
export const findWorkspaceFor =
  (services: Pick<Services, 'workspaces'>) =>
  async (workspaceId: string, externalUserId: string | undefined): Promise<Workspace> => {
    const [workspace, isListed] = await Promise.all([
      services.workspaces.get(workspaceId),
      externalUserId === undefined ? false : services.workspaces.isListed(workspaceId, externalUserId),
    ]);
    if (workspace === undefined) throw new ServiceError('accessDenied', 'Access denied');
    admitExternalUser(workspace, externalUserId, isListed);
    return workspace;
  };
