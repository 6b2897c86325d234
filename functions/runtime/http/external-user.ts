import { ServiceError } from '#contract/errors.ts';
import { checkNamedUsers } from '#domain/workspaces/find-workspace.ts';
import { workspaces } from '#runtime/composition/services.ts';

/**
 * The external user of a request that may name it as a query parameter or in a header.
 * @throws badRequest if both name different users; clientNotAllowed
 */
export async function externalUserOf({
  workspaceId,
  query,
  headers,
}: {
  workspaceId: string;
  query: { external_user_id?: string | undefined };
  headers: { 'x-external-user-id'?: string | undefined };
}): Promise<string | undefined> {
  const inQuery = query.external_user_id;
  const inHeader = headers['x-external-user-id'];
  if (inQuery !== undefined && inHeader !== undefined && inQuery !== inHeader) {
    await checkUsers(workspaceId, [inQuery, inHeader]);
    throw new ServiceError('badRequest', 'external_user_id and the header x-external-user-id differ');
  }
  return inQuery ?? inHeader;
}

/** Checks the whitelist: `checkNamedUsers` of the process. */
export const checkUsers = (workspaceId: string, named: readonly unknown[]): Promise<void> =>
  checkNamedUsers({ workspaces: workspaces() }, workspaceId, named);
