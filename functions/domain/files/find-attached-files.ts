import { ServiceError } from '#contract/errors.ts';
import { limits } from '#contract/limits.ts';
import type { FileServices, Services } from './services.ts';
import { hasExpired, type StoredFile } from './stored-file.ts';

/**
 * The files that a message attaches, without duplicates, in the given order.
 * @param field name of the list in error messages
 * @throws badRequest naming the first entry that is not a file of the workspace or has expired
 */
export async function findAttachedFiles(
  services: { fileIndex: Pick<FileServices['fileIndex'], 'get'> } & Services<'clock'>,
  workspaceId: string,
  uuids: readonly string[],
  field = 'attached_file_uuids',
): Promise<StoredFile[]> {
  const distinct = [...new Set(uuids)];
  const found = await Promise.all(distinct.map((uuid) => services.fileIndex.get(workspaceId, uuid)));
  const now = services.clock.now();
  return found.map((file, index) => {
    const at = uuids.indexOf(distinct[index] ?? '');
    if (file === undefined) throw unknownFile(field, at);
    if (hasExpired(file, now))
      throw new ServiceError(
        'badRequest',
        `${field}[${at}] has expired: an ephemeral file is kept for ${limits.ephemeralHours} hours`,
      );
    return file;
  });
}

export const unknownFile = (field: string, index: number): ServiceError =>
  new ServiceError('badRequest', `${field}[${index}] is not a file of this workspace`);
