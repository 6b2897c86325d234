import type { Purge } from '#domain/chats/purge.ts';
import { eraseFile } from '#domain/files/delete-file.ts';
import { hasAllRequests, inGroups, type Services, startRun } from './erasure.ts';

type EraseChatServices = Services<'batches' | 'chatTraces' | 'requestEraser'> &
  Parameters<typeof eraseFile>[0];

/**
 * Files that another chat attaches stay. It may be repeated, also after a crash.
 * @returns false if `hasTime` returned false before the end
 */
export async function eraseChat(
  services: EraseChatServices,
  purge: Purge,
  { isLast, hasTime }: { isLast: boolean; hasTime: () => boolean },
): Promise<boolean> {
  const { chatTraces, requestEraser } = services;
  const { workspaceId, chatId } = purge;
  for await (const requests of chatTraces.requests(purge)) {
    if (!hasTime()) return false;
    const erased: typeof requests = [];
    await inGroups(requests, async (request) => {
      const batch = { workspaceId, id: request.batchId };
      const isStored = isLast || (await hasAllRequests(services, batch));
      await requestEraser.erase(batch, request.requestIndex);
      if (isStored) erased.push(request);
    });
    await chatTraces.removeRequests(purge, erased);
  }
  if (!(await chatTraces.deleteMessages(purge, hasTime))) return false;
  for await (const files of chatTraces.files(purge)) {
    if (!hasTime()) return false;
    await inGroups(files, (file) => eraseFile(services, { ...file, workspaceId }, chatId));
    // A function may still store the prepared content of an erased file. By these entries, the last run finds the file.
    if (isLast) await chatTraces.removeFiles(purge, files);
  }
  return true;
}

/**
 * Does nothing if the purge has ended. Until `lastWrite`, work that began before the deletion may store something, so
 * another run follows then.
 */
export async function purgeChat(
  services: EraseChatServices & Services<'clock' | 'purgeOutbox' | 'purgeQueue'>,
  purge: Purge,
): Promise<void> {
  const { purgeOutbox, purgeQueue } = services;
  if (!(await purgeOutbox.has(purge))) return;
  const { lastWrite, isLast, hasTime } = startRun(services, purge);
  if (!(await eraseChat(services, purge, { isLast, hasTime }))) await purgeQueue.send([purge]);
  else await (isLast ? purgeOutbox.remove(purge) : purgeOutbox.postpone(purge, lastWrite));
}
