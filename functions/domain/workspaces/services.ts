import type { Limits } from '#contract/rate-limits.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { ApiKeyStore } from './api-key.ts';
import type { AuditLog } from './audit.ts';
import type { PriceStore } from './prices.ts';
import type { RateBucketStore, RateLimits } from './rate-limits.ts';
import type { UsageStore } from './usage.ts';
import type { WorkspaceDeletion, WorkspaceObjects, WorkspaceStore } from './workspace.ts';

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
