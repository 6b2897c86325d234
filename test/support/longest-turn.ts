/** Milliseconds of processor time of this thread. Unlike the time of a clock, it does not depend on what else runs. */
const processorTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/**
 * The longest processor time of the thread between two turns of the event loop while it works, in milliseconds. The
 * compiler and the garbage collector take time too, so compare the shortest of several runs.
 */
export async function longestTurn(work: () => unknown): Promise<number> {
  const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 0));
  let longest = 0;
  let isDone = false;
  const watch = async () => {
    for (let before = processorTime(); !isDone; ) {
      await nextTurn();
      const now = processorTime();
      longest = Math.max(longest, now - before);
      before = now;
    }
  };
  await nextTurn();
  const watching = watch();
  try {
    await work();
    await nextTurn();
  } finally {
    isDone = true;
    await watching;
  }
  return longest;
}
