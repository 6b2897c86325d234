import type { ChatResource } from '#contract/chat.ts';
import type { MessageResource } from '#contract/message.ts';
import type { FileServices } from '#domain/files/services.ts';
import { chatResource } from './chat.ts';
import { countMessages } from './count-messages.ts';
import { messageResource } from './message-resource.ts';
import type { Services } from './services.ts';

export type ExportedLine =
  | ({ type: 'chat' } & ChatResource)
  | ({ type: 'message'; chat_id: number } & MessageResource);

const chatsPerPage = 100;

/**
 * All that the histories of a workspace or of one user show: each chat, followed by its messages, oldest first. Messages
 * come in pages that fit into memory.
 */
export async function* exportChats(
  services: Services<'chatPages' | 'chats' | 'clock' | 'messages'> & {
    files: Pick<FileServices['files'], 'address'>;
  },
  filter: { workspaceId: string; externalUserId: string | undefined },
): AsyncGenerator<ExportedLine[]> {
  for (let offset = 0; ; offset += chatsPerPage) {
    const page = await services.chatPages.page(filter, { limit: chatsPerPage, offset, ascending: true });
    for (const chat of page.chats) {
      yield [{ type: 'chat', ...chatResource(chat) }];
      const last = await countMessages(services, chat);
      for await (const messages of services.messages.range(chat, { first: 1, last, ascending: true }))
        yield await Promise.all(
          messages.map(
            async (rated): Promise<ExportedLine> => ({
              type: 'message',
              chat_id: chat.id,
              ...(await messageResource(services, chat.id, rated)),
            }),
          ),
        );
    }
    if (page.chats.length < chatsPerPage) return;
  }
}
