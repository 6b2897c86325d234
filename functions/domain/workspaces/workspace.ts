import { ServiceError } from '#contract/errors.ts';
import type { Limits } from '#contract/rate-limits.ts';

/** An external user of a workspace. */
export interface Person {
  workspaceId: string;
  externalUserId: string;
}

export interface Workspace {
  id: string;
  name: string;
  /**
   * If false, requests with a valid key of the workspace get status 403, once the gateway's cached responses of the
   * authorizer have expired.
   */
  enabled: boolean;
  whitelistEnabled: boolean;
  titlesEnabled: boolean;
  /**
   * Whether the workspace may use the OpenAI-compatible routes. Their callers write instructions and earlier replies
   * themselves.
   */
  openAiEnabled: boolean;
  /** `none` switches all limits off, including `ownLimits`. */
  limits: 'default' | 'none';
  /** Limits that replace those of the stage. */
  ownLimits: Partial<Limits>;
  /** Chats are deleted some time after this number of days without use; null for never. */
  retentionDays: number | null;
  createdAt: string;
}

/** The limits that apply to the workspace; null if it has none. */
export const limitsOf = ({ limits, ownLimits }: Workspace, stage: Limits): Limits | null =>
  limits === 'none' ? null : { ...stage, ...ownLimits };

/**
 * Why a user may not use a workspace in whitelist mode (specification, section 5.4); undefined if the user may.
 * @param externalUserId undefined or null if the request names no user
 */
export function whitelistProblem(externalUserId: unknown, isListed: boolean): string | undefined {
  if (externalUserId === undefined || externalUserId === null)
    return 'external_user_id is required in whitelist mode';
  return isListed ? undefined : 'external_user_id is not on the whitelist of this workspace';
}

/** @throws clientNotAllowed if the workspace is in whitelist mode and the user is missing or not on its list. */
export function checkExternalUser(workspace: Workspace, externalUserId: unknown, isListed: boolean): void {
  const problem = workspace.whitelistEnabled ? whitelistProblem(externalUserId, isListed) : undefined;
  if (problem !== undefined) throw new ServiceError('clientNotAllowed', problem);
}

export type WorkspaceChanges = Partial<
  Pick<
    Workspace,
    'name' | 'enabled' | 'whitelistEnabled' | 'titlesEnabled' | 'openAiEnabled' | 'limits' | 'retentionDays'
  >
> & {
  /**
   * Limits that are not given do not change. `stage` removes the workspace's own limit, so that the stage's applies.
   */
  ownLimits?: { [Name in keyof Limits]?: Limits[Name] | 'stage' };
};

export interface WorkspaceStore {
  get(workspaceId: string): Promise<Workspace | undefined>;
  isListed(workspaceId: string, externalUserId: string): Promise<boolean>;
  put(workspace: Workspace): Promise<void>;
  /** @returns the changed workspace; undefined if the id is unknown */
  update(workspaceId: string, changes: WorkspaceChanges): Promise<Workspace | undefined>;
  /** Sorted by id. */
  list(): Promise<Workspace[]>;
  /** The whitelist in pages, in no particular order. */
  listed(workspaceId: string): AsyncIterable<string[]>;
  addToWhitelist(workspaceId: string, externalUserIds: string[]): Promise<void>;
  removeFromWhitelist(workspaceId: string, externalUserIds: string[]): Promise<void>;
}

/** Numbers of deleted items and objects. */
export interface DeletedCounts {
  items: number;
  objects: number;
}

/** Deletes the items of a workspace. After a crash, the deletion may be started again. */
export interface WorkspaceDeletion {
  /**
   * Disables the workspace for its deletion, and ends the regular deletion of its unused chats.
   * @returns undefined if the workspace does not exist. `startedAt`: the time since which it has been disabled for its
   *   deletion, ISO 8601. `deleted`: what its deletion has deleted in all, also before it was enabled for a while.
   */
  start(workspaceId: string, at: string): Promise<{ startedAt: string; deleted: DeletedCounts } | undefined>;
  /** Adds to the stored counts of the deletion. */
  add(workspaceId: string, deleted: DeletedCounts): Promise<void>;
  /**
   * Scans the table once and deletes the items of the workspace, except the workspace itself and its list entry.
   * @param onPage gets the number of items that were read and deleted since the last call
   */
  deleteItems(workspaceId: string, onPage: (read: number, deleted: number) => Promise<void>): Promise<void>;
  /**
   * Deletes the workspace itself. One audit entry remains, in the list for all workspaces, with the id and the counts.
   */
  finish(workspaceId: string, deleted: DeletedCounts): Promise<void>;
}

export interface WorkspaceObjects {
  /**
   * Deletes every object and every unfinished upload of the workspace.
   * @param onDeleted called with the number of objects and uploads that were deleted since the last call
   */
  delete(workspaceId: string, onDeleted: (deleted: number) => Promise<void>): Promise<void>;
}
