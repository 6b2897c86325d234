type Source<Item> = AsyncIterator<Item, unknown> | Iterator<Item, unknown>;

/**
 * One item of each source in turn, until all are empty.
 * @param onFailure gets the error of a source, which ends it; the others go on
 */
export async function* takeTurns<Item>(
  sources: Iterable<Source<Item>> | AsyncIterable<Source<Item>>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<Item> {
  const nextOf = async <Value>(source: Source<Value>): Promise<{ value: Value } | undefined> => {
    try {
      const { done, value } = await source.next();
      return done === true ? undefined : { value };
    } catch (error) {
      onFailure(error);
      return undefined;
    }
  };
  const opening: Source<Source<Item>> =
    Symbol.asyncIterator in sources ? sources[Symbol.asyncIterator]() : sources[Symbol.iterator]();
  const waiting: Source<Item>[] = [];
  for (;;) {
    const source = (await nextOf(opening))?.value ?? waiting.shift();
    if (source === undefined) return;
    const item = await nextOf(source);
    if (item === undefined) continue;
    yield item.value;
    waiting.push(source);
  }
}
