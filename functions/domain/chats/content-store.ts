/** Texts that are too large for an item of the table. */
export interface ContentStore {
  /** @returns the name of the stored text, for `get` */
  put(workspaceId: string, content: string): Promise<string>;
  get(name: string): Promise<string>;
  /** The text if it has at most so many characters; a longer one is not read. */
  getUpTo(name: string, characters: number): Promise<string | undefined>;
  delete(name: string): Promise<void>;
}
