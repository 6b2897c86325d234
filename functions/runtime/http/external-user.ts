import { ServiceError } from '#contract/errors.ts';
import type { ChatOfUser } from '#domain/chats/find-chat.ts';
import { checkNamedUsers } from '#domain/workspaces/find-workspace.ts';
import { workspaces } from '#runtime/composition/services.ts';

interface RequestOfChat {
  workspaceId: string;
  parameters: { chat_id: number };
  query: { external_user_id?: string | undefined };
  headers: { 'x-external-user-id'?: string | undefined };
  body: unknown;
}

/**
 * The chat of a request, and its external user, whom the request may name in its body, or as a query parameter or in a
 * header.
 * @throws badRequest if query and header name different users; clientNotAllowed
 */
export async function chatOf({
  workspaceId,
  parameters,
  query,
  headers,
  body,
}: RequestOfChat): Promise<ChatOfUser> {
  const inQuery: string | undefined = query.external_user_id ?? Object(body).external_user_id;
  const inHeader = headers['x-external-user-id'];
  if (inQuery !== undefined && inHeader !== undefined && inQuery !== inHeader) {
    await checkUsers(workspaceId, [inQuery, inHeader]);
    throw new ServiceError('badRequest', 'external_user_id and the header x-external-user-id differ');
  }
  return { workspaceId, chatId: parameters.chat_id, externalUserId: inQuery ?? inHeader };
}

/** Checks the whitelist: `checkNamedUsers` of the process. */
export const checkUsers = (workspaceId: string, named: readonly unknown[]): Promise<void> =>
  checkNamedUsers({ workspaces: workspaces() }, workspaceId, named);
