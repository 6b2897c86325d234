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

  /** @param name by `nameOf` */
  named(name: string): StoredItem | undefined {
    return this.#byKey.get(name);
  }
}

export const nameOf = ({ pk, sk }: Key): string => `${pk} ${sk}`;
