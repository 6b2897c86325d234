/** Does the work for each value, for so many values at the same time. */
export async function eachAtOnce<Each>(
  atOnce: number,
  values: Iterable<Each>,
  work: (value: Each) => Promise<void>,
): Promise<void> {
  // One iterator for all workers, which an error of a worker closes.
  const left = (function* () {
    yield* values;
  })();
  const worker = async () => {
    for (const value of left) await work(value);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
