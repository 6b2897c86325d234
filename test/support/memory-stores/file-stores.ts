import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chat } from '#domain/chats/chat.ts';
import { eraseFile } from '#domain/files/erase-file.ts';
import type { FileErasures } from '#domain/files/file-erasures.ts';
import type { FileIndex, PreparationLeases } from '#domain/files/file-index.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

interface Entry {
  file: StoredFile;
  /** Id of an erasure. */
  erasing?: string | undefined;
  isConfirmed?: boolean;
  preparingUntil?: number | undefined;
}

type NamedFile = Pick<StoredFile, 'uuid' | 'scope'>;

export interface MemoryFileStores {
  fileIndex: FileIndex;
  fileErasures: FileErasures;
  filesOf(chat: Pick<Chat, 'workspaceId' | 'id'>): {
    /** Erases the registered files and those that messages name. */
    erase(named: readonly NamedFile[], isLast: boolean): Promise<string[]>;
  };
}

/** For stores that are tested without the bytes of files. */
export const eraseFileIn = (services: Pick<FileServices, 'fileErasures'>) =>
  eraseFile({
    ...services,
    files: { delete: async () => undefined },
    preparedAttachments: { delete: async () => undefined },
    identifiers: { uuid: randomUUID } as unknown as Parameters<typeof eraseFile>[0]['identifiers'],
  });

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
  const filesOfChat = new Map<string, Map<string, NamedFile>>();
  const nameOf = (...parts: (string | number)[]): string => JSON.stringify(parts);
  const registeredIn = (workspaceId: string, chatId: number): Map<string, NamedFile> => {
    const files = filesOfChat.get(nameOf(workspaceId, chatId)) ?? new Map<string, NamedFile>();
    filesOfChat.set(nameOf(workspaceId, chatId), files);
    return files;
  };
  const entryOf = ({ workspaceId, uuid }: { workspaceId: string; uuid: string }) =>
    entries.get(nameOf(workspaceId, uuid));
  const fileIndex: FileIndex = {
    async put(file) {
      entries.set(nameOf(file.workspaceId, file.uuid), { file: structuredClone(file) });
    },
    get: async (workspaceId, uuid) => structuredClone(entries.get(nameOf(workspaceId, uuid))?.file),
    async attach({ workspaceId, uuid, scope }, chatId) {
      const name = nameOf(workspaceId, uuid);
      const chats = chatsOfFile.get(name) ?? new Set();
      const isNew = !chats.has(chatId);
      chatsOfFile.set(name, chats.add(chatId));
      registeredIn(workspaceId, chatId).set(uuid, { uuid, scope });
      const isUndecided = () => entries.get(name)?.erasing !== undefined && !entries.get(name)?.isConfirmed;
      for (let attempt = 1; attempt < 8 && isUndecided(); attempt += 1) await sleep(attempt);
      const entry = entries.get(name);
      if (entry !== undefined && entry.erasing === undefined) return true;
      if (isNew || !isUndecided()) chats.delete(chatId);
      if (!isUndecided()) registeredIn(workspaceId, chatId).delete(uuid);
      return false;
    },
    ...preparationLeasesOf(entryOf),
  };
  const fileErasures: FileErasures = {
    async detach({ workspaceId, uuid }, chatId) {
      chatsOfFile.get(nameOf(workspaceId, uuid))?.delete(chatId);
    },
    isAttached: async ({ workspaceId, uuid }) => (chatsOfFile.get(nameOf(workspaceId, uuid))?.size ?? 0) > 0,
    async start(name, id) {
      const entry = entryOf(name);
      if (entry === undefined) return 'gone';
      if (entry.isConfirmed) return 'confirmed';
      entry.erasing = id;
      return 'started';
    },
    async cancel(name, id) {
      const entry = entryOf(name);
      if (entry?.erasing === id && !entry.isConfirmed) entry.erasing = undefined;
    },
    async confirm(name, id) {
      const entry = entryOf(name);
      if (entry?.erasing === id) entry.isConfirmed = true;
      return entry === undefined || entry.isConfirmed === true;
    },
    async finish({ workspaceId, uuid }) {
      entries.delete(nameOf(workspaceId, uuid));
    },
  };
  const erase = eraseFileIn({ fileErasures });
  return {
    fileIndex,
    fileErasures,
    filesOf: ({ workspaceId, id }) => ({
      async erase(named, isLast) {
        const registered = registeredIn(workspaceId, id);
        const files = new Map([...named, ...registered.values()].map((file) => [file.uuid, file]));
        const retained: string[] = [];
        for (const { uuid, scope } of files.values())
          if ((await erase({ workspaceId, uuid, scope }, id)) === 'not-indexed') retained.push(uuid);
        if (isLast) registered.clear();
        return retained;
      },
    }),
  };
}
