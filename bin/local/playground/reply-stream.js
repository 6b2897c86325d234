/** @import { StreamEvent } from './types.d.ts' */
import { eventsOf, RequestFailed, request } from './api.js';

/**
 * The wait before the first attempt to reconnect, in milliseconds. It doubles with each further attempt that brings no
 * event, up to `longestWait`.
 */
const firstWait = 250;
const longestWait = 4000;

/**
 * The events of a resumable reply, each once, until `[DONE]`, which has no event. If the connection is lost, the stream
 * continues after the last event when the service responds again.
 *
 * @param {object} source
 * @param {number} source.chatId
 * @param {string} source.user
 * @param {() => Promise<Response>} [source.send] sends the message; a repetition must be safe
 * @param {string} [source.responseId] of a reply that was sent already
 * @param {AbortSignal} source.signal ends the waits: its reason is thrown
 * @param {() => void} source.onLost called when the connection is lost
 * @returns {AsyncGenerator<{ raw: string, event: StreamEvent | undefined }>}
 * @throws RequestFailed if the service rejects the request
 */
export async function* replyEvents({ chatId, user, send, responseId, signal, onLost }) {
  const position = { responseId, last: -1 };
  const open = () => {
    if (position.responseId === undefined && send !== undefined) return send();
    const starting_after = position.last < 0 ? undefined : position.last;
    const query = { response_id: position.responseId, starting_after, external_user_id: user };
    return request('GET', `/chats/${chatId}/stream`, { query });
  };
  for (let attempt = 0; ; attempt += 1) {
    try {
      for await (const received of newEvents(open, position)) {
        attempt = 0;
        yield received;
        if (received.event === undefined) return;
      }
    } catch (error) {
      if (error instanceof RequestFailed && error.isRejection) throw error;
    }
    onLost();
    await pause(Math.min(firstWait * 2 ** attempt, longestWait), signal);
  }
}

/**
 * The events of one connection, without those that are known.
 *
 * @param {() => Promise<Response>} open
 * @param {{ responseId: string | undefined, last: number }} position
 */
async function* newEvents(open, position) {
  for await (const received of eventsOf(await open()))
    if (received.event === undefined || advance(position, received.event)) yield received;
}

/**
 * Moves the position to an event, if the event is new.
 *
 * @param {{ responseId: string | undefined, last: number }} position
 * @param {StreamEvent} event
 * @returns {boolean} whether the event is new
 */
function advance(position, { response_id, sequence_number }) {
  if (response_id === position.responseId && sequence_number <= position.last) return false;
  position.responseId = response_id;
  position.last = sequence_number;
  return true;
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 */
export async function pause(milliseconds, signal) {
  signal.throwIfAborted();
  await new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', resolve, { once: true });
  });
  signal.throwIfAborted();
}
