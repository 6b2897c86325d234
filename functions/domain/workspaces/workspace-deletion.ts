/** What was deleted. */
export interface DeletedCounts {
  items: number;
  objects: number;
}

/** Deletes the items of a workspace. Each method may be repeated, also after a crash. */
export interface WorkspaceDeletion {
  /**
   * Disables the workspace for its deletion.
   * @returns since when it has been disabled for its deletion, ISO 8601, and what was deleted since; undefined if the workspace
   *   does not exist
   */
  start(workspaceId: string, at: string): Promise<{ startedAt: string; deleted: DeletedCounts } | undefined>;
  /** Adds to what has been deleted. */
  add(workspaceId: string, deleted: DeletedCounts): Promise<void>;
  /**
   * Scans the table once and deletes every item of the workspace except the workspace itself and its list entry.
   * @param onPage gets the number of items that were read and deleted since the last call
   */
  deleteItems(workspaceId: string, onPage: (read: number, deleted: number) => Promise<void>): Promise<void>;
  /** Deletes the workspace itself. Its only trace is one audit entry for all workspaces, with the id and the counts. */
  finish(workspaceId: string, deleted: DeletedCounts): Promise<void>;
}

export interface WorkspaceObjects {
  /**
   * Deletes every object and every unfinished upload of the workspace.
   * @param onDeleted gets the number of those that were deleted since the last call
   */
  delete(workspaceId: string, onDeleted: (deleted: number) => Promise<void>): Promise<void>;
}
