import { limits } from '#contract/limits.ts';
import type { ReplyEventStore, ReplyName, StoredEvents } from '#domain/chats/reply-event-store.ts';

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
