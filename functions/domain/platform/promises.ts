/**
 * Like `Promise.all`, but rejects only when every promise has ended, with the first rejection in the order of the
 * promises. A Lambda function may be frozen after its response, so nothing that it has started may continue then.
 */
export async function allEnded<Promises extends readonly unknown[]>(
  promises: readonly [...Promises],
): Promise<{ -readonly [Index in keyof Promises]: Awaited<Promises[Index]> }> {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
}

/**
 * Milliseconds after a deletion from which nothing writes to what was deleted any more. A function that had read it before
 * may write for 900 s, Lambda's longest timeout; the rest is for differences of clocks, and for callers that the gateway
 * has authorized before.
 */
export const lastWriteAfter = 20 * 60_000;

/**
 * Settles as the promise does. If the signal aborts first, rejects with its reason at once, although the work
 * continues.
 */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}
