import type { ContentStore } from '#domain/chats/content-store.ts';

export function memoryContentStore(): ContentStore {
  const contents = new Map<string, string>();
  let stored = 0;
  const read = (name: string): string => {
    const content = contents.get(name);
    if (content === undefined) throw new Error(`The content ${name} is missing`);
    return content;
  };
  const prefixOf = (chat: { workspaceId: string; id: number }) => `contents/${chat.workspaceId}/${chat.id}/`;
  return {
    async put(chat, content) {
      stored += 1;
      const name = `${prefixOf(chat)}${stored}`;
      contents.set(name, content);
      return name;
    },
    get: async (name) => read(name),
    async getUpTo(name, characters) {
      const content = read(name);
      return content.length <= characters ? content : undefined;
    },
    delete: async (name) => void contents.delete(name),
    async deleteOf(chat) {
      for (const name of contents.keys()) if (name.startsWith(prefixOf(chat))) contents.delete(name);
    },
  };
}
