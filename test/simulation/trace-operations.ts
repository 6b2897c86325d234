import { recordFeedback } from '#domain/chats/chats.ts';
import { messageId } from '#domain/chats/message.ts';
import { deleteUnusedChats } from '#domain/erasure/delete-unused-chats.ts';
import { deleteFile } from '#domain/files/attachments.ts';
import type { FileServices } from '#domain/files/files.ts';
import type { Process } from './process.ts';

type Services = Parameters<typeof recordFeedback>[0] &
  Parameters<typeof deleteFile>[0] &
  Parameters<typeof deleteUnusedChats>[0] &
  Pick<FileServices, 'fileIndex'>;

/** What is done with files, ratings and unused chats. */
export const traceOperations = (of: (process: Process) => Services, objects: Set<string>) => ({
  async upload(process: Process, workspaceId: string, uuid: string): Promise<void> {
    objects.add(uuid);
    await of(process).fileIndex.put({
      ...{ uuid, workspaceId, name: 'a.txt', contentType: 'text/plain', size: 1, scope: 'persistent' },
      ...{ createdAt: process.clock.now().toISOString(), expiresAt: null },
    });
  },
  deleteUnused: (process: Process) => deleteUnusedChats(of(process)),
  async retain(process: Process, workspaceId: string, days: number): Promise<void> {
    await of(process).workspaces.update(workspaceId, { retentionDays: days });
  },
  removeFile: (process: Process, workspaceId: string, uuid: string) =>
    deleteFile(of(process), workspaceId, uuid),
  rate: (
    process: Process,
    input: { workspaceId: string; chatId: number; externalUserId: string; position: number },
  ) =>
    recordFeedback(
      of(process),
      {
        ...input,
        ...{ messageId: messageId(input.chatId, input.position), type: 'sys_helpful', content: null },
      },
      async () => undefined,
    ),
});
