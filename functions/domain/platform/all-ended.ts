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
