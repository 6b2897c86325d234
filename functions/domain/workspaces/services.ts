import type { Limits } from '#contract/rate-limits.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { ApiKeyStore } from './api-key-store.ts';
import type { AuditLog } from './audit-log.ts';
import type { RateBucketStore } from './rate-bucket-store.ts';
import type { RateLimits } from './rate-limits.ts';
import type { UsageStore } from './usage-store.ts';
import type { WorkspaceDeletion, WorkspaceObjects } from './workspace-deletion.ts';
import type { WorkspaceStore } from './workspace-store.ts';

export interface WorkspaceServices extends PlatformServices {
  apiKeys: ApiKeyStore;
  auditLog: AuditLog;
  rateBuckets: RateBucketStore;
  rateLimits: RateLimits;
  /** The limits of workspaces without own limits. */
  stageLimits: Limits;
  usage: UsageStore;
  workspaceDeletion: WorkspaceDeletion;
  workspaceObjects: WorkspaceObjects;
  workspaces: WorkspaceStore;
}

/** What a use case needs of them. */
export type Services<Name extends keyof WorkspaceServices> = Pick<WorkspaceServices, Name>;
