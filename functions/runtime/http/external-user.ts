import { ServiceError } from '#contract/errors.ts';
import type { CheckUsers } from './request.ts';

/**
 * The external user of a request that may name it as a query parameter or in a header.
 * @throws badRequest if both name different users; clientNotAllowed
 */
export async function externalUserOf(
  {
    workspaceId,
    query,
    headers,
  }: {
    workspaceId: string;
    query: { external_user_id?: string | undefined };
    headers: { 'x-external-user-id'?: string | undefined };
  },
  checkUsers: CheckUsers,
): Promise<string | undefined> {
  const inQuery = query.external_user_id;
  const inHeader = headers['x-external-user-id'];
  if (inQuery !== undefined && inHeader !== undefined && inQuery !== inHeader) {
    await checkUsers(workspaceId, [inQuery, inHeader]);
    throw new ServiceError('badRequest', 'external_user_id and the header x-external-user-id differ');
  }
  return inQuery ?? inHeader;
}
