interface Source<Item> {
  next(): { done?: boolean; value: Item } | Promise<{ done?: boolean; value: Item }>;
}

/** One item of each source in turn, until all are empty. */
export async function* takeTurns<Item>(
  sources: Iterable<Source<Item>> | AsyncIterable<Source<Item>>,
): AsyncGenerator<Item> {
  const waiting: Source<Item>[] = [];
  for await (const source of sources) {
    const { done, value } = await source.next();
    if (done === true) continue;
    yield value;
    waiting.push(source);
  }
  for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
    const { done, value } = await source.next();
    if (done === true) continue;
    yield value;
    waiting.push(source);
  }
}
