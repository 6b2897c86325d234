import process from 'node:process';

/** From now on, what the thread writes to stdout is dropped: each line would cost a message to the main thread. */
export function dropOutput(): void {
  process.stdout.write = (...args: unknown[]) => {
    const callback = args.at(-1);
    if (typeof callback === 'function') queueMicrotask(() => callback());
    return true;
  };
}
