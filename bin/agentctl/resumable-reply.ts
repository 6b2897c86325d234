import { setTimeout as pause } from 'node:timers/promises';
import type { StreamEvent } from '#contract/events.ts';
import type { HttpClient } from './http-client.ts';
import { InterruptedStream, readReply } from './read-reply.ts';
import { retryDelay } from './retry-delay.ts';

/** Resumes in a row that bring no further event. */
const fruitlessResumes = 4;

/**
 * Sends a message and returns the events of its reply, each once. A lost connection is resumed after the last event. If
 * there was none, the send is repeated with its Idempotency-Key, which starts no second turn.
 * @param log gets a line for each lost connection
 * @throws InterruptedStream if the stream cannot be resumed
 */
export async function* resumableReply(
  client: HttpClient,
  { chatId, user, fields }: { chatId: number; user: string | undefined; fields: Record<string, unknown> },
  log: (line: string) => void,
): AsyncGenerator<StreamEvent> {
  const ofUser = user !== undefined && { external_user_id: user };
  const body = JSON.stringify({ ...fields, ...ofUser, stream: true, resumable: true });
  const headers = { Accept: 'text/event-stream', 'Idempotency-Key': crypto.randomUUID() };
  let last: StreamEvent | undefined;
  const open = () => {
    if (last === undefined) return client.open(`/chats/${chatId}/messages`, { body, headers });
    const { response_id, sequence_number } = last;
    const query = new URLSearchParams({ response_id, starting_after: String(sequence_number), ...ofUser });
    return client.open(`/chats/${chatId}/stream?${query}`, { headers: { Accept: headers.Accept } });
  };
  for (let resumes = 1; ; resumes += 1) {
    const response = await client.withRetries(open);
    try {
      for await (const event of readReply(response)) {
        last = event;
        resumes = 0;
        yield event;
      }
      return;
    } catch (error) {
      const isResumable = last === undefined || last.response_id !== undefined;
      if (!(error instanceof InterruptedStream) || !isResumable || resumes >= fruitlessResumes) throw error;
    }
    log('The connection was lost; resuming the reply');
    if (resumes > 0) await pause(retryDelay(resumes) * 1000);
  }
}
