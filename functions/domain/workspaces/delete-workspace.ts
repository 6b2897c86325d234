import type { Clock } from '#domain/platform/clock.ts';
import { lastWriteAfter } from '#domain/platform/last-write.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { WorkspaceServices } from './services.ts';
import type { DeletedCounts } from './workspace-deletion.ts';

export type DeletionProgress =
  | ({ type: 'scanning' | 'scanned'; pass: number; itemsRead: number } & DeletedCounts)
  | { type: 'waiting'; until: Date };

/**
 * Deletes a workspace with everything that is stored for it. Functions that started before the workspace was disabled may
 * write until `lastWriteAfter`. So after the first pass it waits until then, and ends with a pass that finds nothing. A
 * further call goes on where an earlier one was killed.
 * @returns what this call has deleted; undefined if the workspace does not exist
 */
export const deleteWorkspace =
  (
    services: Pick<WorkspaceServices, 'workspaceDeletion' | 'workspaceObjects'> &
      Pick<PlatformServices, 'clock'>,
  ) =>
  async (
    workspaceId: string,
    onProgress: (progress: DeletionProgress) => void,
  ): Promise<DeletedCounts | undefined> => {
    const { clock, workspaceDeletion, workspaceObjects } = services;
    const startedAt = await workspaceDeletion.start(workspaceId, clock.now().toISOString());
    if (startedAt === undefined) return undefined;
    const lastWrite = Date.parse(startedAt) + lastWriteAfter;
    const total: DeletedCounts = { items: 0, objects: 0 };
    for (let pass = 1; ; pass += 1) {
      const isProof = clock.now().getTime() >= lastWrite;
      const progress = { pass, itemsRead: 0, items: 0, objects: 0 };
      progress.objects = await workspaceObjects.delete(workspaceId);
      await workspaceDeletion.deleteItems(workspaceId, (read, deleted) => {
        progress.itemsRead += read;
        progress.items += deleted;
        onProgress({ type: 'scanning', ...progress });
      });
      onProgress({ type: 'scanned', ...progress });
      total.items += progress.items;
      total.objects += progress.objects;
      if (isProof && progress.items + progress.objects === 0) break;
      await waitUntil(clock, lastWrite, onProgress);
    }
    await workspaceDeletion.finish(workspaceId, total);
    return total;
  };

async function waitUntil(
  clock: Clock,
  time: number,
  onProgress: (progress: DeletionProgress) => void,
): Promise<void> {
  const left = time - clock.now().getTime();
  if (left <= 0) return;
  const waiting = new Promise<void>((resolve) => {
    clock.after(left, resolve);
  });
  onProgress({ type: 'waiting', until: new Date(time) });
  await waiting;
}
