import type { Key } from '#adapters/dynamo/table/keys.ts';
import type { Snapshot, StoredRow } from './snapshot.ts';

/** The rows of a snapshot by their keys. */
export class StoredRows {
  readonly all: readonly StoredRow[];
  readonly #byKey: ReadonlyMap<string, StoredRow>;
  readonly #byPartition: ReadonlyMap<string, StoredRow[]>;

  constructor({ rows }: Pick<Snapshot, 'rows'>) {
    this.all = rows;
    this.#byKey = new Map(rows.map((row) => [nameOf(row), row]));
    this.#byPartition = Map.groupBy(rows, ({ pk }) => pk);
  }

  at(key: Key): StoredRow | undefined {
    return this.#byKey.get(nameOf(key));
  }

  has(key: Key): boolean {
    return this.#byKey.has(nameOf(key));
  }

  in(pk: string): readonly StoredRow[] {
    return this.#byPartition.get(pk) ?? [];
  }

  /** Those whose keys have such a form, with what the form's groups hold. */
  like(pk: RegExp, sk: RegExp): { row: StoredRow; parts: string[] }[] {
    return this.all.flatMap((row) => {
      const [partition, sort] = [pk.exec(row.pk), sk.exec(row.sk)];
      return partition && sort ? [{ row, parts: [...partition.slice(1), ...sort.slice(1)] }] : [];
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
