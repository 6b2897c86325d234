import { ServiceError } from '#contract/errors.ts';
import type { Limits } from '#contract/rate-limits.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { ApiKeyStore } from './api-key.ts';
import type { AuditLog } from './audit.ts';
import type { RateBucketStore, RateLimits } from './rate-limits.ts';
import type { PriceStore, UsageStore } from './usage.ts';

export interface Person {
  workspaceId: string;
  externalUserId: string;
}

export interface Workspace {
  id: string;
  name: string;
  /** If false, requests with a valid key get status 403 once the gateway's cached authorizations have expired. */
  enabled: boolean;
  whitelistEnabled: boolean;
  titlesEnabled: boolean;
  /** Off by default: callers of the OpenAI-compatible routes write instructions and earlier replies themselves. */
  openAiEnabled: boolean;
  /** `none` switches off the limits of the stage and `ownLimits`. */
  limits: 'default' | 'none';
  ownLimits: Partial<Limits>;
  /** Unused chats are deleted some time after this number of days; null if they are kept. */
  retentionDays: number | null;
  createdAt: string;
}

export const limitsOf = ({ limits, ownLimits }: Workspace, stage: Limits): Limits | null =>
  limits === 'none' ? null : { ...stage, ...ownLimits };

/** Specification, section 5.4. Undefined if the user may use a workspace in whitelist mode. */
export function whitelistProblem(externalUserId: unknown, isListed: boolean): string | undefined {
  if (externalUserId === undefined || externalUserId === null)
    return 'external_user_id is required in whitelist mode';
  return isListed ? undefined : 'external_user_id is not on the whitelist of this workspace';
}

/** @throws clientNotAllowed if the workspace is in whitelist mode and the user is missing or not on its list */
export function checkExternalUser(workspace: Workspace, externalUserId: unknown, isListed: boolean): void {
  const problem = workspace.whitelistEnabled ? whitelistProblem(externalUserId, isListed) : undefined;
  if (problem !== undefined) throw new ServiceError('clientNotAllowed', problem);
}

export type WorkspaceChanges = Partial<Omit<Workspace, 'id' | 'createdAt' | 'ownLimits'>> & {
  /** `stage` removes the workspace's own limit. */
  ownLimits?: { [Name in keyof Limits]?: Limits[Name] | 'stage' };
};

export interface WorkspaceStore {
  get(workspaceId: string): Promise<Workspace | undefined>;
  isListed(workspaceId: string, externalUserId: string): Promise<boolean>;
  put(workspace: Workspace): Promise<void>;
  update(workspaceId: string, changes: WorkspaceChanges): Promise<Workspace | undefined>;
  list(): Promise<Workspace[]>;
  listed(workspaceId: string): AsyncIterable<string[]>;
  addToWhitelist(workspaceId: string, externalUserIds: string[]): Promise<void>;
  removeFromWhitelist(workspaceId: string, externalUserIds: string[]): Promise<void>;
}

export interface DeletedCounts {
  items: number;
  objects: number;
}

/** After a crash, the deletion may be started again. */
export interface WorkspaceDeletion {
  /**
   * Disables the workspace, and ends the regular deletion of its unused chats.
   * @returns undefined if the workspace does not exist. `startedAt`: the `at` of the first start since an update
   * last set `enabled`, ISO 8601. `deleted`: the sum of what `add` has got
   */
  start(workspaceId: string, at: string): Promise<{ startedAt: string; deleted: DeletedCounts } | undefined>;
  add(workspaceId: string, deleted: DeletedCounts): Promise<void>;
  /**
   * Keeps the workspace itself and its list entry.
   * @param onPage called after each page with the numbers of items read and deleted for it; calls may overlap
   */
  deleteItems(workspaceId: string, onPage: (read: number, deleted: number) => Promise<void>): Promise<void>;
  finish(workspaceId: string, deleted: DeletedCounts): Promise<void>;
}

export interface WorkspaceObjects {
  /**
   * Also deletes unfinished uploads.
   * @param onDeleted called with the number of objects and uploads that were deleted since the last call
   */
  delete(workspaceId: string, onDeleted: (deleted: number) => Promise<void>): Promise<void>;
}

export interface WorkspaceServices extends PlatformServices {
  apiKeys: ApiKeyStore;
  auditLog: AuditLog;
  prices: PriceStore;
  rateBuckets: RateBucketStore;
  rateLimits: RateLimits;
  stageLimits: Limits;
  usage: UsageStore;
  workspaceDeletion: WorkspaceDeletion;
  workspaceObjects: WorkspaceObjects;
  workspaces: WorkspaceStore;
}

export type Services<Name extends keyof WorkspaceServices> = Pick<WorkspaceServices, Name>;
