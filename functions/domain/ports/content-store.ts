/** Texts that are too large for an item of the table. */
export interface ContentStore {
  /** @returns the name to read it by */
  put(workspaceId: string, content: string): Promise<string>;
  get(name: string): Promise<string>;
  delete(name: string): Promise<void>;
}
