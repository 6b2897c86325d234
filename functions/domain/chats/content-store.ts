/** Texts that are too large for an item of the table. */
export interface ContentStore {
  /** @returns the name to read it by */
  put(workspaceId: string, content: string): Promise<string>;
  get(name: string): Promise<string>;
  /** The same, unless it has more characters: then nothing of it is read. */
  getUpTo(name: string, characters: number): Promise<string | undefined>;
  delete(name: string): Promise<void>;
}
