/** A resumable reply, by its response id. */
export interface ReplyName {
  workspaceId: string;
  chatId: number;
  responseId: string;
}

/** Consecutive events of a reply, each as the bytes that its client gets. */
export interface StoredEvents {
  /** Sequence number of the first text, or of the next one if there is none. */
  first: number;
  /** May be empty at the end of a reply. */
  texts: string[];
  /** These are the last events of the reply. */
  isLast: boolean;
}

/** Stores the events of resumable replies for an hour. */
export interface ReplyEventStore {
  /** Stores events that follow those of the previous call. A call that is repeated with the same events changes nothing. */
  append(reply: ReplyName, events: StoredEvents, now: Date): Promise<void>;
  /** Whether the first event of the reply is stored, and not older than an hour. */
  hasReply(reply: ReplyName, now: Date): Promise<boolean>;
  /** The stored events from a sequence number on. The first of them may contain earlier events. */
  eventsFrom(reply: ReplyName, sequenceNumber: number): AsyncIterable<StoredEvents>;
}
