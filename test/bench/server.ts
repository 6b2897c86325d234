import type { MemoryPart } from '../../bin/local/memory-by-part.ts';
import { loadClientOf, type Target } from './load-client.ts';

/** A running server that is measured. */
export interface Server {
  pid: number;
  target: Target;
  /** From its start to its first response. */
  startSeconds: number;
  /** Adds the pages that the list phase reads to the existing data: see `seededPages`. */
  seedPages(): Promise<void>;
  /** Whether it has OpenAI's chat completions. */
  servesCompletions?: boolean;
  /** The memory of its process by part, if it can report that. */
  memoryByPart?(): Promise<MemoryPart[]>;
  close(): Promise<void>;
}

/**
 * Starts a server.
 * @param folder with its data, or empty
 * @param model the provider's address, with `/v1`
 */
export type StartServer = (folder: string, model: string) => Promise<Server>;

/** Waits for a server's first response. @returns the seconds since its start at `from` */
export async function secondsToResponse(target: Target, from: number): Promise<number> {
  const client = loadClientOf(target);
  await client.readPage('/chats');
  client.close();
  return (performance.now() - from) / 1000;
}

/**
 * The lists that are read: `total` chats, newest first, and the newest chat with `total` messages, oldest first. Chat
 * ids and positions of messages are dense (docs/decisions/001), so totals are counters, and a page is a range. Only the
 * counters and the items that are read exist. `total` is more than the farthest page needs.
 */
export const seededPages = { total: 1_100_000, length: 50, offsets: [0, 1000, 1_000_000] } as const;
