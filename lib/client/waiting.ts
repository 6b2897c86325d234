/** Waits for the given time, as `startTimer` does. Throws the signal's reason if it is aborted. */
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

/** The longest time that a timer can have, 24.8 days. Longer timers, and Infinity, would end immediately. */
const longestTimer = 2 ** 31 - 1;

/**
 * Calls back after the given time; never if that is longer than a timer can wait.
 * @returns a function that ends the timer
 */
export function startTimer(milliseconds: number, callback: () => void): () => void {
  if (milliseconds > longestTimer) return () => undefined;
  const timer = setTimeout(callback, milliseconds);
  return () => clearTimeout(timer);
}

const abortCallbacks = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal is aborted; never if it was aborted before. Requests share one listener of a signal,
 * because Node.js warns of more than ten.
 * @returns a function that ends the subscription
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
