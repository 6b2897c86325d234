import type { Clock } from '#domain/platform/clock.ts';
import { lastWriteAfter } from '#domain/platform/last-write.ts';
import type { Services } from './services.ts';
import type { DeletedCounts } from './workspace-deletion.ts';

export type DeletionProgress =
  /** The counts are of the pass, `total` is of all passes of all calls. */
  | ({ type: 'scanning' | 'scanned'; pass: number; itemsRead: number; total: DeletedCounts } & DeletedCounts)
  | { type: 'waiting'; until: Date };

/**
 * Deletes a workspace with everything that is stored for it. Functions that started before the workspace was disabled may
 * write until `lastWriteAfter`. So after the first pass it waits until then, and ends with a pass that finds nothing. A
 * further call goes on where an earlier one was killed.
 * @returns what all calls have deleted; undefined if the workspace does not exist
 */
export async function deleteWorkspace(
  services: Services<'clock' | 'workspaceDeletion' | 'workspaceObjects'>,
  workspaceId: string,
  onProgress: (progress: DeletionProgress) => void,
): Promise<DeletedCounts | undefined> {
  const { clock, workspaceDeletion, workspaceObjects } = services;
  const started = await workspaceDeletion.start(workspaceId, clock.now().toISOString());
  if (started === undefined) return undefined;
  const lastWrite = Date.parse(started.startedAt) + lastWriteAfter;
  const total: DeletedCounts = { ...started.deleted };
  for (let pass = 1; ; pass += 1) {
    const isProof = clock.now().getTime() >= lastWrite;
    const progress = { pass, itemsRead: 0, items: 0, objects: 0 };
    const onDeleted = async (deleted: DeletedCounts) => {
      for (const counts of [progress, total]) {
        counts.items += deleted.items;
        counts.objects += deleted.objects;
      }
      onProgress({ type: 'scanning', ...progress, total });
      if (deleted.items + deleted.objects > 0) await workspaceDeletion.add(workspaceId, deleted);
    };
    await workspaceObjects.delete(workspaceId, (objects) => onDeleted({ items: 0, objects }));
    await workspaceDeletion.deleteItems(workspaceId, async (read, items) => {
      progress.itemsRead += read;
      await onDeleted({ items, objects: 0 });
    });
    onProgress({ type: 'scanned', ...progress, total });
    if (isProof && progress.items + progress.objects === 0) break;
    await waitUntil(clock, lastWrite, onProgress);
  }
  await workspaceDeletion.finish(workspaceId, total);
  return total;
}

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
