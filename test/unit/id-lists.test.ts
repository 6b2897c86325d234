import fc from 'fast-check';
import { expect, it } from 'vitest';
import { appending, listIndexes, readHead, readIds } from '#adapters/dynamo/table/id-lists.ts';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';

const list = keys.chatList('ws_1', { agentId: 'agent' });

/** A table in memory that records its reads and evaluates the conditions of transactions. */
function memoryTable() {
  const items = new Map<string, Item>();
  const textOf = ({ pk, sk }: Key): string => `${pk}|${sk}`;
  const reads: string[] = [];
  const get: Table['get'] = async (key) => {
    reads.push(key.sk);
    return items.get(textOf(key));
  };
  const table: Pick<Table, 'get' | 'getNamed'> = {
    get,
    async getNamed(key) {
      const item = await get(key);
      if (item === undefined) throw new Error(`${key.sk} is missing`);
      return item;
    },
  };
  return {
    table: table as Table,
    items,
    reads,
    write(writes: Write[]): boolean {
      const conditionsMet = writes.every(({ Update }) => {
        if (Update === undefined) return true;
        const stored = items.get(textOf(Update.Key as unknown as Key));
        return Update.ConditionExpression === 'attribute_not_exists(#count)'
          ? stored?.count === undefined
          : stored?.count === Update.ExpressionAttributeValues?.[':before'];
      });
      if (!conditionsMet) return false;
      for (const { Put, Update } of writes) {
        if (Put !== undefined) items.set(textOf(Put.Item as unknown as Key), Put.Item as Item);
        if (Update === undefined) continue;
        const { ':after': count, ':ids': newest_ids } = Update.ExpressionAttributeValues as Item;
        const stored = items.get(textOf(Update.Key as unknown as Key));
        items.set(textOf(Update.Key as unknown as Key), { ...stored, count, newest_ids });
      }
      return true;
    },
  };
}

async function fill(count: number): Promise<ReturnType<typeof memoryTable>> {
  const memory = memoryTable();
  for (let location = 0; location < count; location += 1) {
    const head = await readHead<number>(memory.table, list);
    expect(memory.write(appending('table', head, [idAt(location)]))).toBe(true);
  }
  memory.reads.length = 0;
  return memory;
}

/** The ids of a list have gaps: the ids between them are in other lists. */
const idAt = (location: number): number => location * 3 + 7;

it('finds the ids at any places of a list of any length, in few reads', async () => {
  const lengths = fc.oneof(
    fc.integer({ min: 0, max: 450 }),
    fc.constantFrom(0, 1, 99, 100, 101, 199, 200, 201, 300, 301),
  );
  await fc.assert(
    fc.asyncProperty(
      lengths,
      fc.array(fc.tuple(fc.nat(460), fc.integer({ min: 1, max: 300 })), { minLength: 1, maxLength: 20 }),
      async (count, pages) => {
        const memory = await fill(count);
        const head = await readHead<number>(memory.table, list);
        expect(head.count).toBe(count);
        for (const [offset, limit] of pages) {
          const last = Math.min(offset + limit, count) - 1;
          if (last < offset) continue;
          memory.reads.length = 0;
          const ids = await readIds(memory.table, head, listIndexes(offset, last));
          expect(ids).toEqual(Array.from({ length: last - offset + 1 }, (_, index) => idAt(offset + index)));
          expect(memory.reads.length).toBeLessThanOrEqual(Math.ceil(limit / 100) + 1);
        }
      },
    ),
    { numRuns: 60 },
  );
});

it('never keeps more than a hundred ids in an item, and none twice', async () => {
  const memory = await fill(305);
  const stored = [...memory.items.values()].map((item) => (item.ids ?? item.newest_ids) as number[]);
  expect(stored.map(({ length }) => length).sort((one, other) => one - other)).toEqual([5, 100, 100, 100]);
  expect(stored.flat().sort((one, other) => one - other)).toEqual(
    Array.from({ length: 305 }, (_, location) => idAt(location)),
  );
});

it.each([0, 1, 99, 100, 101, 200])(
  'lets one of two win who append to a list of %i at once',
  async (count) => {
    const memory = await fill(count);
    const head = await readHead<number>(memory.table, list);
    expect(memory.write(appending('table', head, [1_000_001]))).toBe(true);
    expect(memory.write(appending('table', head, [1_000_002]))).toBe(false);
    const after = await readHead<number>(memory.table, list);
    expect(after.count).toBe(count + 1);
    expect(await readIds(memory.table, after, listIndexes(count, count))).toEqual([1_000_001]);
  },
);

it('takes many ids at once as it takes them one by one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 250 }), { minLength: 1, maxLength: 8 }),
      async (sizes) => {
        const memory = await fill(0);
        let count = 0;
        for (const size of sizes) {
          const head = await readHead<number>(memory.table, list);
          const ids = Array.from({ length: size }, (_, index) => idAt(count + index));
          expect(memory.write(appending('table', head, ids))).toBe(true);
          count += size;
        }
        const head = await readHead<number>(memory.table, list);
        expect(await readIds(memory.table, head, listIndexes(0, count - 1))).toEqual(
          Array.from({ length: count }, (_, location) => idAt(location)),
        );
      },
    ),
    { numRuns: 40 },
  );
});

it('says so when a chunk is missing, rather than leaving ids out', async () => {
  const memory = await fill(150);
  for (const key of memory.items.keys()) if (key.endsWith('CHUNK#0')) memory.items.delete(key);
  const head = await readHead<number>(memory.table, list);
  await expect(readIds(memory.table, head, listIndexes(90, 120))).rejects.toThrow('missing');
});
