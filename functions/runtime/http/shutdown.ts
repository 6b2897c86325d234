import { ReplyAborted } from '#domain/chats/collect-reply.ts';
import { interrupted } from '#domain/chats/gather-reply.ts';

const runningReplies = new Set<AbortController>();

/**
 * Aborts a reply when the process must end, so that its text is stored as far as it came.
 * @returns call it when the reply has ended
 */
export function abortOnShutdown(reply: AbortController): () => void {
  runningReplies.add(reply);
  return () => void runningReplies.delete(reply);
}

/** Aborts all running replies. */
export function abortReplies(): void {
  for (const reply of runningReplies) reply.abort(new ReplyAborted('shutdown', interrupted));
}
