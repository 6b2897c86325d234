import { ServiceError } from '#contract/errors.ts';
import { eraseFile } from './erase-file.ts';
import type { Services } from './services.ts';

/** Milliseconds. A send takes some 10 ms to take back that its chat attaches a closed file. */
const pause = 200;

/**
 * Deletes a file that no message has. A send that attaches it at the same moment either has it, and nothing is deleted, or
 * is rejected.
 * @throws notFound `File not found`; badRequest if a message has the file
 */
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
