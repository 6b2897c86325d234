/** The promise's result, or the signal's reason as soon as it aborts, whether or not the work reacts to the signal. */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}
