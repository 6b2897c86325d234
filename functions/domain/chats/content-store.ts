import type { Chat } from './chat.ts';

type ChatName = Pick<Chat, 'workspaceId' | 'id'>;

/** Texts that are too large for an item of the table. */
export interface ContentStore {
  /** @returns the name of the stored text, for `get` */
  put(chat: ChatName, content: string): Promise<string>;
  get(name: string): Promise<string>;
  /** The text if it has at most so many characters; a longer one is not read. */
  getUpTo(name: string, characters: number): Promise<string | undefined>;
  delete(name: string): Promise<void>;
  /** Deletes the texts of a chat. Names of an earlier version do not have the chat: those are left. */
  deleteOf(chat: ChatName): Promise<void>;
}
