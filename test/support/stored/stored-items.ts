import type { Key } from '#adapters/dynamo/table/keys.ts';
import type { Snapshot, StoredItem } from './snapshot.ts';

/** The items of a snapshot by their keys. */
export class StoredItems {
  readonly all: readonly StoredItem[];
  readonly #byKey: ReadonlyMap<string, StoredItem>;
  readonly #byPartition: ReadonlyMap<string, StoredItem[]>;

  constructor({ items }: Pick<Snapshot, 'items'>) {
    this.all = items;
    this.#byKey = new Map(items.map((item) => [nameOf(item), item]));
    this.#byPartition = Map.groupBy(items, ({ pk }) => pk);
  }

  at(key: Key): StoredItem | undefined {
    return this.#byKey.get(nameOf(key));
  }

  has(key: Key): boolean {
    return this.#byKey.has(nameOf(key));
  }

  in(pk: string): readonly StoredItem[] {
    return this.#byPartition.get(pk) ?? [];
  }

  /** The items whose keys match the patterns, with the texts of the patterns' groups. */
  like(pk: RegExp, sk: RegExp): { item: StoredItem; parts: string[] }[] {
    return this.all.flatMap((item) => {
      const [partition, sort] = [pk.exec(item.pk), sk.exec(item.sk)];
      return partition && sort ? [{ item, parts: [...partition.slice(1), ...sort.slice(1)] }] : [];
    });
  }

  /** The ids of a list, in its order. */
  list(pk: string): { count: number; ids: unknown[] } {
    const head = this.at({ pk, sk: 'HEAD' });
    const chunks = this.in(pk)
      .filter(({ sk }) => sk.startsWith('CHUNK#'))
      .sort((one, other) => Number(one.sk.slice(6)) - Number(other.sk.slice(6)));
    const ids = [...chunks.map((chunk) => chunk.ids), head?.newest_ids ?? []].flat() as unknown[];
    return { count: (head?.count as number | undefined) ?? 0, ids };
  }
}

export const nameOf = ({ pk, sk }: Key): string => `${pk} ${sk}`;
