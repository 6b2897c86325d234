/** A queue that is fair to groups: a group with many items does not delay a group with few. */
export function createFairBacklog<Item>() {
  // In the order of the groups' turns.
  const groups = new Map<string, Item[]>();
  let size = 0;

  function next(): [group: string, items: Item[], item: Item] | undefined {
    for (const [group, items] of groups) if (items[0] !== undefined) return [group, items, items[0]];
    return undefined;
  }

  return {
    get size(): number {
      return size;
    },
    add(group: string, item: Item): void {
      const items = groups.get(group);
      if (items) items.push(item);
      else groups.set(group, [item]);
      size += 1;
    },
    /** Takes up to `count` items, one of each group in turn. Stops before the first item that does not fit. */
    take(count: number, fits: (item: Item) => boolean): Item[] {
      const taken: Item[] = [];
      for (let turn = next(); turn && taken.length < count && fits(turn[2]); turn = next()) {
        const [group, items, item] = turn;
        items.shift();
        groups.delete(group);
        if (items.length > 0) groups.set(group, items);
        size -= 1;
        taken.push(item);
      }
      return taken;
    },
    items: (): Item[] => [...groups.values()].flat(),
  };
}
