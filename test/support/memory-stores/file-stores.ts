import type { Chat } from '#domain/chats/chat.ts';
import type { FileIndex, PreparationLeases } from '#domain/files/file-index.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

interface Entry {
  file: StoredFile;
  isClosed?: boolean;
  preparingUntil?: number | undefined;
}

export interface MemoryFileStores {
  fileIndex: FileIndex;
  /** The files that are registered in a chat. */
  registeredIn(chat: Pick<Chat, 'workspaceId' | 'id'>): Map<string, Pick<StoredFile, 'uuid' | 'scope'>>;
}

/** For tests without the bytes of files. */
export const noObjects = {
  files: { delete: async () => undefined },
  preparedAttachments: { delete: async () => undefined },
};

const preparationLeasesOf = (
  entryOf: (name: { workspaceId: string; uuid: string }) => Entry | undefined,
): PreparationLeases => ({
  async takeLease(name, until, now) {
    const entry = entryOf(name);
    const taken = entry?.preparingUntil ?? 0;
    if (taken >= now) return taken === until;
    if (entry !== undefined) entry.preparingUntil = until;
    return true;
  },
  async releaseLease(name, until) {
    const entry = entryOf(name);
    if (entry?.preparingUntil === until) entry.preparingUntil = undefined;
  },
});

export function memoryFileStores(): MemoryFileStores {
  const entries = new Map<string, Entry>();
  const chatsOfFile = new Map<string, Set<number>>();
  const filesOfChat = new Map<string, ReturnType<MemoryFileStores['registeredIn']>>();
  const nameOf = (...parts: (string | number)[]): string => JSON.stringify(parts);
  const registeredIn: MemoryFileStores['registeredIn'] = ({ workspaceId, id }) => {
    const files = filesOfChat.get(nameOf(workspaceId, id)) ?? new Map<string, StoredFile>();
    filesOfChat.set(nameOf(workspaceId, id), files);
    return files;
  };
  const entryOf = ({ workspaceId, uuid }: { workspaceId: string; uuid: string }) =>
    entries.get(nameOf(workspaceId, uuid));
  const fileIndex: FileIndex = {
    async put(file) {
      entries.set(nameOf(file.workspaceId, file.uuid), { file: structuredClone(file) });
    },
    get: async (workspaceId, uuid) => structuredClone(entries.get(nameOf(workspaceId, uuid))?.file),
    async attach(file, chatId) {
      const { workspaceId, uuid } = file;
      const entry = entryOf(file);
      if (entry === undefined || entry.isClosed) return false;
      const name = nameOf(workspaceId, uuid);
      chatsOfFile.set(name, (chatsOfFile.get(name) ?? new Set()).add(chatId));
      registeredIn({ workspaceId, id: chatId }).set(uuid, file);
      return true;
    },
    async detach({ workspaceId, uuid }, chatId) {
      chatsOfFile.get(nameOf(workspaceId, uuid))?.delete(chatId);
    },
    isAttached: async ({ workspaceId, uuid }) => (chatsOfFile.get(nameOf(workspaceId, uuid))?.size ?? 0) > 0,
    async close(name) {
      const entry = entryOf(name);
      if (entry !== undefined) entry.isClosed = true;
    },
    async remove({ workspaceId, uuid }) {
      entries.delete(nameOf(workspaceId, uuid));
    },
    ...preparationLeasesOf(entryOf),
  };
  return { fileIndex, registeredIn };
}
