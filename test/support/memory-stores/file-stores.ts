import type { FileIndex } from '#domain/files/file-index.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

export function memoryFileIndex(): FileIndex {
  const files = new Map<string, StoredFile>();
  const nameOf = (workspaceId: string, uuid: string): string => JSON.stringify([workspaceId, uuid]);
  return {
    async put(file) {
      files.set(nameOf(file.workspaceId, file.uuid), structuredClone(file));
    },
    get: async (workspaceId, uuid) => structuredClone(files.get(nameOf(workspaceId, uuid))),
  };
}
