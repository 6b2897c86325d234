export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = startTimer(milliseconds, () => {
      unsubscribe();
      resolve();
    });
    const unsubscribe = onAbort(signal, () => {
      stop();
      reject(signal?.reason);
    });
  });
}

/** Longer timers, and Infinity, would end too early. */
const longestTimer = 2 ** 31 - 1;

export function startTimer(milliseconds: number, callback: () => void): () => void {
  if (milliseconds > longestTimer) return () => undefined;
  const timer = setTimeout(callback, milliseconds);
  return () => clearTimeout(timer);
}

const abortCallbacks = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Does not call back if the signal was aborted before. Calls with the same signal share one listener, because Node.js
 * 20 warns of more than ten.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => undefined;
  let callbacks = abortCallbacks.get(signal);
  if (callbacks === undefined) {
    const added = new Set<() => void>();
    const notify = () => {
      for (const each of added) each();
    };
    signal.addEventListener('abort', notify, { once: true });
    abortCallbacks.set(signal, added);
    callbacks = added;
  }
  const all = callbacks.add(callback);
  return () => void all.delete(callback);
}
