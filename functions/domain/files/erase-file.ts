import type { PlatformServices } from '#domain/platform/services.ts';
import type { FileServices } from './services.ts';
import type { StoredFile } from './stored-file.ts';

/**
 * `attached`: another chat attaches the file; `not-indexed`: whether one does is unknown; `replaced`: another erasure of
 * the file decides. None of these erases the file.
 */
export type FileErasure = 'erased' | 'attached' | 'not-indexed' | 'replaced';

/**
 * Erases a file of a deleted chat, unless another chat attaches it. It may be repeated, also concurrently and after a
 * crash. Without a chat, it erases a file that no chat attaches.
 *
 * A send registers its chat and then checks for an erasure; an erasure starts and then checks for chats. So at least one
 * of them sees the other, and the file of a stored message is never erased. The metadata goes last: until then, the next
 * run continues a confirmed erasure.
 */
export const eraseFile =
  (
    services: Pick<FileServices, 'fileErasures'> &
      Pick<PlatformServices, 'identifiers'> & {
        files: Pick<FileServices['files'], 'delete'>;
        preparedAttachments: Pick<FileServices['preparedAttachments'], 'delete'>;
      },
  ) =>
  async (
    file: Pick<StoredFile, 'workspaceId' | 'uuid' | 'scope'>,
    chatId: number | null,
  ): Promise<FileErasure> => {
    const { fileErasures, files, identifiers, preparedAttachments } = services;
    if (chatId !== null) await fileErasures.detach(file, chatId);
    if (await fileErasures.isAttached(file)) return 'attached';
    const id = identifiers.uuid();
    const start = await fileErasures.start(file, id);
    if (start === 'not-indexed') return 'not-indexed';
    if (start === 'started') {
      if (await fileErasures.isAttached(file)) {
        await fileErasures.cancel(file, id);
        return 'attached';
      }
      if (!(await fileErasures.confirm(file, id))) return 'replaced';
    }
    await Promise.all([preparedAttachments.delete(file), files.delete(file)]);
    await fileErasures.finish(file);
    return 'erased';
  };
