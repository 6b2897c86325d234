import { ServiceError } from '#contract/errors.ts';
import { externalUserId } from '#contract/fields.ts';
import { lastWriteAfter } from '#domain/platform/promises.ts';
import { checkExternalUser, type DeletedCounts, type Services, type Workspace } from './workspace.ts';

/** @throws accessDenied if the workspace does not exist; clientNotAllowed (specification, section 5.4) */
export async function findWorkspaceFor(
  services: Services<'workspaces'>,
  workspaceId: string,
  externalUserId: string | undefined,
): Promise<Workspace> {
  const [workspace, isListed] = await Promise.all([
    services.workspaces.get(workspaceId),
    externalUserId === undefined ? false : services.workspaces.isListed(workspaceId, externalUserId),
  ]);
  if (workspace === undefined) throw new ServiceError('accessDenied', 'Access denied');
  checkExternalUser(workspace, externalUserId, isListed);
  return workspace;
}

/** @throws notFound for an unknown workspace */
export async function requireWorkspace(services: Services<'workspaces'>, workspaceId: string): Promise<void> {
  if ((await services.workspaces.get(workspaceId)) === undefined)
    throw new ServiceError('notFound', `Workspace ${workspaceId} not found`);
}

/**
 * For a request that is rejected anyway: in whitelist mode, the error about the user comes first.
 * @param named every value that the request gives as an external user, valid or not
 * @throws accessDenied if the workspace does not exist; clientNotAllowed (specification, section 5.4)
 */
export async function checkNamedUsers(
  services: Services<'workspaces'>,
  workspaceId: string,
  named: readonly unknown[],
): Promise<void> {
  const workspace = await services.workspaces.get(workspaceId);
  if (workspace === undefined) throw new ServiceError('accessDenied', 'Access denied');
  if (!workspace.whitelistEnabled) return;
  for (const user of new Set(named.length === 0 ? [undefined] : named)) {
    const { success, data } = externalUserId.safeParse(user);
    const isListed = success && (await services.workspaces.isListed(workspaceId, data));
    checkExternalUser(workspace, user, isListed);
  }
}

export async function createWorkspace(
  services: Services<'clock' | 'identifiers' | 'workspaces'>,
  input: Pick<Workspace, 'name' | 'whitelistEnabled' | 'limits'> & Partial<Pick<Workspace, 'openAiEnabled'>>,
): Promise<Workspace> {
  const workspace: Workspace = {
    id: services.identifiers.workspaceId(),
    enabled: true,
    titlesEnabled: true,
    openAiEnabled: false,
    ...input,
    ownLimits: {},
    retentionDays: null,
    createdAt: services.clock.now().toISOString(),
  };
  await services.workspaces.put(workspace);
  return workspace;
}

export type DeletionProgress =
  /** `items` and `objects` count what this pass has deleted. `total` also counts earlier passes and calls. */
  | ({ type: 'scanning' | 'scanned'; pass: number; itemsRead: number; total: DeletedCounts } & DeletedCounts)
  | { type: 'waiting'; until: Date };

/**
 * Functions may write for `lastWriteAfter` after the workspace was disabled, so the last pass starts after this time.
 * After a crash, the deletion may be started again.
 * @returns the last `total`; undefined if the workspace does not exist
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
    const left = lastWrite - clock.now().getTime();
    if (left <= 0) continue;
    const waiting = new Promise<void>((resolve) => clock.after(left, resolve));
    onProgress({ type: 'waiting', until: new Date(lastWrite) });
    await waiting;
  }
  await workspaceDeletion.finish(workspaceId, total);
  return total;
}
