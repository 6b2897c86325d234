import type { Limits } from '#contract/rate-limits.ts';
import type { Workspace } from './workspace.ts';

export type WorkspaceChanges = Partial<
  Pick<Workspace, 'enabled' | 'whitelistEnabled' | 'titlesEnabled' | 'limits'>
> & {
  /** Those that are named change: to another, or to the stage's. */
  ownLimits?: { [Name in keyof Limits]?: Limits[Name] | 'stage' };
};

export interface WorkspaceStore {
  get(workspaceId: string): Promise<Workspace | undefined>;
  isListed(workspaceId: string, externalUserId: string): Promise<boolean>;
  put(workspace: Workspace): Promise<void>;
  /** The changed workspace; undefined when there is none of that id. */
  update(workspaceId: string, changes: WorkspaceChanges): Promise<Workspace | undefined>;
  list(): Promise<Workspace[]>;
  addToWhitelist(workspaceId: string, externalUserIds: string[]): Promise<void>;
  removeFromWhitelist(workspaceId: string, externalUserIds: string[]): Promise<void>;
}
