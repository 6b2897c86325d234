import { allEnded } from '#domain/platform/all-ended.ts';
import { unknownFile } from './find-attached-files.ts';
import type { FileServices } from './services.ts';
import type { StoredFile } from './stored-file.ts';

/**
 * Registers the files of a message in its chat, before the message is stored. Without files it does nothing.
 * @param uuids as the client sent them
 * @throws badRequest naming the first file that has been erased since `findAttachedFiles` found it
 */
export async function attachFiles(
  services: { fileIndex: Pick<FileServices['fileIndex'], 'attach'> },
  chatId: number,
  files: readonly StoredFile[],
  uuids: readonly string[],
): Promise<void> {
  const attached = await allEnded(files.map((file) => services.fileIndex.attach(file, chatId)));
  const erased = files.find((_, index) => attached[index] === false);
  if (erased !== undefined) throw unknownFile('attached_file_uuids', uuids.indexOf(erased.uuid));
}
