import { chatNotFound, ServiceError } from '#contract/errors.ts';
import type { ListPage } from '#contract/pagination.ts';
import { findWorkspaceFor } from '#domain/workspaces/find-workspace.ts';
import { type Chat, isOpenTo } from './chat.ts';
import { countMessages } from './count-messages.ts';
import type { ChatOfUser } from './find-chat.ts';
import type { RatedMessage } from './message-store.ts';
import type { Services } from './services.ts';

/**
 * One page of a chat's history. Positions have no gaps, so a page is a range of positions and the total is the last
 * one.
 * @throws clientNotAllowed, then badRequest without an external user, then notFound `Chat not found`
 */
export async function listMessages(
  services: Services<'chats' | 'messages' | 'workspaces'>,
  input: ChatOfUser & ListPage,
): Promise<{ total: number; pages: AsyncIterable<RatedMessage[]> }> {
  const [, chat] = await Promise.all([
    findWorkspaceFor(services, input.workspaceId, input.externalUserId),
    services.chats.get(input.workspaceId, input.chatId),
  ]);
  if (input.externalUserId === undefined)
    throw new ServiceError(
      'badRequest',
      'external_user_id is required, as a query parameter or in the header x-external-user-id',
    );
  if (chat === undefined || !isOpenTo(chat, input.externalUserId)) throw chatNotFound();

  const total = await countMessages(services, chat);
  const [first, last] = input.ascending
    ? [input.offset + 1, Math.min(input.offset + input.limit, total)]
    : [Math.max(total - input.offset - input.limit + 1, 1), total - input.offset];
  const pages = services.messages.range(chat, { first, last, ascending: input.ascending });
  return { total, pages: last < first ? pages : unlessDeleted(services, chat, pages) };
}

/**
 * A purge may delete messages while they are read. The page ends before them.
 * @throws `Chat not found` if it would have none
 */
async function* unlessDeleted(
  { chats }: Services<'chats'>,
  { workspaceId, id }: Chat,
  pages: AsyncIterable<RatedMessage[]>,
): AsyncGenerator<RatedMessage[]> {
  let isEmpty = true;
  for await (const page of pages) {
    isEmpty &&= page.length === 0;
    yield page;
  }
  if (isEmpty && (await chats.get(workspaceId, id)) === undefined) throw chatNotFound();
}
