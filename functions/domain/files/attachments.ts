import { ServiceError } from '#contract/errors.ts';
import { limits } from '#contract/limits.ts';
import type { UploadedFile } from '#contract/message.ts';
import { allEnded } from '#domain/platform/promises.ts';
import { isExpired } from '#domain/platform/services.ts';
import {
  ExtractionFailure,
  essenceOf,
  type FileServices,
  type PreparationAddresses,
  type PreparedAttachment,
  type Services,
  type StoredFile,
} from './files.ts';

/** @throws badRequest that names the first entry that is not a file of the workspace, or has expired */
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
    if (isExpired(file.expiresAt, now))
      throw new ServiceError(
        'badRequest',
        `${field}[${at}] has expired: an ephemeral file is kept for ${limits.ephemeralHours} hours`,
      );
    return file;
  });
}

const unknownFile = (field: string, index: number): ServiceError =>
  new ServiceError('badRequest', `${field}[${index}] is not a file of this workspace`);

/**
 * Must end before the message is stored.
 * @throws badRequest that names the first file that is closed or deleted
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

const noticesShown = 10;

const noticeCharacters = 200;

/**
 * A hostile file may control the function that wrote the notices. So their number and length are limited when they are
 * read, and each is made one line.
 */
export function readNotices(stored: unknown): { notices?: readonly string[] } {
  if (!Array.isArray(stored)) return {};
  const notices = stored
    .filter((notice) => typeof notice === 'string')
    .slice(0, noticesShown)
    .map((notice) =>
      notice
        .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
        .slice(0, noticeCharacters)
        .toWellFormed(),
    );
  return notices.length > 0 ? { notices } : {};
}

/** A file as clients see it (specification, section 2.7). Its URL is short-lived. */
export const uploadedFileResource = async (
  services: Services<'clock'> & { files: Pick<FileServices['files'], 'address'> },
  file: StoredFile,
): Promise<UploadedFile> => ({
  uuid: file.uuid,
  original_name: file.name,
  content_type: file.contentType,
  size: file.size,
  file_url: await services.files.address(file, services.clock.now()),
  scope: file.scope,
});

type PrepareServices = Services<'imageFitter' | 'preparation' | 'textExtractor'>;

export interface FileToPrepare extends Pick<StoredFile, 'name' | 'contentType'> {
  addresses: PreparationAddresses;
}

/** For an unreadable file, stores the reason, so that the file is not converted again. */
export async function prepareAttachment(services: PrepareServices, file: FileToPrepare): Promise<void> {
  // A caller of an earlier release sends no addresses, and this function may not read files without them.
  if (file.addresses === undefined) throw new Error('The caller has signed no addresses');
  const bytes = await services.preparation.readFile(file.addresses);
  if (bytes === undefined) return;
  await services.preparation.putContent(file.addresses, await prepare(services, file, bytes));
}

async function prepare(
  services: PrepareServices,
  { name, contentType, addresses }: FileToPrepare,
  bytes: Uint8Array,
): Promise<PreparedAttachment> {
  const mediaType = essenceOf(contentType);
  try {
    if (!mediaType.startsWith('image/')) {
      const { contentType: _, ...extracted } = await services.textExtractor.extract({
        name,
        contentType,
        bytes,
      });
      return { type: 'text', ...extracted };
    }
    const fitted = await services.imageFitter.fit({ bytes, mediaType });
    if (fitted === null) return { type: 'image', mediaType, fitted: false };
    await services.preparation.putImage(addresses, fitted.bytes);
    const { bytes: _, ...image } = fitted;
    return { type: 'image', ...image, fitted: true };
  } catch (error) {
    if (!(error instanceof ExtractionFailure)) throw error;
    return { type: 'unreadable', reason: error.message };
  }
}

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
