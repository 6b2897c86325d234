import { ServiceError } from '#contract/errors.ts';
import { eraseFile } from './erase-file.ts';
import type { FileServices } from './services.ts';

/** An attempt fails if another request or a purge erases the same file at the same moment. One of them decides. */
const attempts = 3;

/**
 * Deletes a file that no message has. A send that attaches it at the same moment either has it, and nothing is deleted, or
 * is rejected.
 * @throws notFound `File not found`; badRequest if a message has the file, or if an earlier version has stored it: then
 *   nobody knows which chats have it
 */
export const deleteFile =
  (services: Pick<FileServices, 'fileIndex'> & Parameters<typeof eraseFile>[0]) =>
  async (workspaceId: string, uuid: string): Promise<void> => {
    const file = await services.fileIndex.get(workspaceId, uuid);
    if (file === undefined) throw new ServiceError('notFound', 'File not found');
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const erasure = await eraseFile(services)(file, null);
      if (erasure === 'erased') return;
      if (erasure !== 'replaced')
        throw new ServiceError(
          'badRequest',
          'The file is attached to a message: it is deleted with its chat',
        );
    }
    throw new Error(`The file ${uuid} was being erased by others at each attempt`);
  };
