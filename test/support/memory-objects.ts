import { randomUUID } from 'node:crypto';
import type { IndexObjects } from '#adapters/knowledge/knowledge-index.ts';
import { limits } from '#contract/limits.ts';
import type { ContentStore } from '#domain/chats/message.ts';
import type { ReplyEventStore, ReplyName, StoredEvents } from '#domain/chats/services.ts';

export function memoryContentStore(contents = new Map<string, string>()): ContentStore {
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

/** For the knowledge store, which stores its index outside the table. */
export function memoryIndexObjects(): IndexObjects {
  const objects = new Map<string, Uint8Array>();
  return {
    async put(workspaceId, object) {
      const name = `knowledge/${workspaceId}/${randomUUID()}`;
      objects.set(name, object);
      return name;
    },
    get: async (name) => objects.get(name),
    delete: async (name) => void objects.delete(name),
  };
}

/** For tests without the bytes of files. */
export const noObjects = {
  files: { delete: async () => undefined },
  preparedAttachments: { delete: async () => undefined },
};

/** For tests that move the time: the store of production compresses in other threads, which takes real time. */
export function memoryReplyEventStore(): ReplyEventStore {
  const replies = new Map<string, { at: Date; byLast: Map<number, StoredEvents> }>();
  const nameOf = ({ workspaceId, chatId, responseId }: ReplyName) => `${workspaceId} ${chatId} ${responseId}`;
  return {
    async append(reply, events, now) {
      const stored = replies.get(nameOf(reply)) ?? { at: now, byLast: new Map() };
      stored.byLast.set(events.first + Math.max(events.texts.length, 1) - 1, structuredClone(events));
      replies.set(nameOf(reply), stored);
    },
    async hasReply(reply, now) {
      const stored = replies.get(nameOf(reply));
      return (
        stored?.byLast.has(0) === true &&
        now.getTime() < stored.at.getTime() + limits.resumableMinutes * 60_000
      );
    },
    async *eventsFrom(reply, sequenceNumber) {
      const stored = [...(replies.get(nameOf(reply))?.byLast ?? [])].sort(([one], [other]) => one - other);
      for (const [last, events] of stored) if (last >= sequenceNumber) yield structuredClone(events);
    },
  };
}
