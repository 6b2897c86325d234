import type { Limits } from '#contract/rate-limits.ts';
import type { Workspace } from './workspace.ts';

export type WorkspaceChanges = Partial<
  Pick<
    Workspace,
    'name' | 'enabled' | 'whitelistEnabled' | 'titlesEnabled' | 'openAiEnabled' | 'limits' | 'retentionDays'
  >
> & {
  /** Only the given limits change. `stage` removes the own limit, so that the stage's applies again. */
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
  /** The whitelist in pages, in an order of its own. */
  listed(workspaceId: string): AsyncIterable<string[]>;
  addToWhitelist(workspaceId: string, externalUserIds: string[]): Promise<void>;
  removeFromWhitelist(workspaceId: string, externalUserIds: string[]): Promise<void>;
}
