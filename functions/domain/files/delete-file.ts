import { ServiceError } from '#contract/errors.ts';
import type { FileServices, Services } from './services.ts';
import type { StoredFile } from './stored-file.ts';

/**
 * It may be repeated, also concurrently and after a crash. `attach` adds the chat and then reads whether the file is
 * closed; an erasure closes the file and then checks for chats. So at least one of them sees the other. The metadata is
 * deleted last, because a repeated `deleteFile` finds the file by it.
 * @param chatId the deleted chat; null erases a file that no chat attaches
 * @returns false if a chat attaches the file: then it is not erased, but may be closed
 */
export async function eraseFile(
  services: {
    fileIndex: Pick<FileServices['fileIndex'], 'detach' | 'isAttached' | 'close' | 'remove'>;
    files: Pick<FileServices['files'], 'delete'>;
    preparedAttachments: Pick<FileServices['preparedAttachments'], 'delete'>;
  },
  file: Pick<StoredFile, 'workspaceId' | 'uuid' | 'scope'>,
  chatId: number | null,
): Promise<boolean> {
  const { fileIndex, files, preparedAttachments } = services;
  if (chatId !== null) await fileIndex.detach(file, chatId);
  // Comes before the file is closed, so that a file of other chats does not change.
  if (await fileIndex.isAttached(file)) return false;
  await fileIndex.close(file);
  if (await fileIndex.isAttached(file)) return false;
  await Promise.all([preparedAttachments.delete(file), files.delete(file)]);
  await fileIndex.remove(file);
  return true;
}

/** In milliseconds, before a second attempt: an `attach` that finds the file closed soon detaches it. */
const pause = 200;

/** @throws notFound; badRequest if a chat has attached the file, also if its message was not stored */
export async function deleteFile(
  services: Services<'clock' | 'fileIndex'> & Parameters<typeof eraseFile>[0],
  workspaceId: string,
  uuid: string,
): Promise<void> {
  const file = await services.fileIndex.get(workspaceId, uuid);
  if (file === undefined) throw new ServiceError('notFound', 'File not found');

  if (await eraseFile(services, file, null)) return;
  await new Promise<void>((resolve) => services.clock.after(pause, resolve));
  if (await eraseFile(services, file, null)) return;
  throw new ServiceError('badRequest', 'The file is attached to a message: it is deleted with its chat');
}
