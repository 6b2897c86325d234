import fc from 'fast-check';
import { expect, it } from 'vitest';
import { livingIndexes, markingGone, readGoneRoot } from '#adapters/dynamo/table/gone-indexes.ts';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';

const list = keys.chatList('ws_1', { agentId: 'agent' });
const textOf = ({ pk, sk }: Key): string => `${pk}|${sk}`;

/** A table in memory that counts its reads. Its caller writes one index after the other, so no condition can fail. */
function memoryTable() {
  const items = new Map<string, Item>();
  const reads: string[] = [];
  const table = {
    async get(key: Key) {
      reads.push(key.sk);
      return items.get(textOf(key));
    },
  } as unknown as Table;
  return {
    table,
    items,
    reads,
    async mark(...indexes: number[]): Promise<void> {
      for (const { Put, Update } of (await markingGone(table, list, indexes))('table')) {
        if (Put !== undefined) items.set(textOf(Put.Item as unknown as Key), Put.Item as Item);
        if (Update === undefined) continue;
        const {
          ':after': gone,
          ':highest': highest,
          ':counts': counts,
        } = Update.ExpressionAttributeValues as Item;
        items.set(textOf(Update.Key as unknown as Key), { gone, highest, counts });
      }
    },
  };
}

/** Near the edges of leaves, or anywhere. */
const index = fc.oneof(
  fc.integer({ min: 0, max: 24_100 }),
  fc.constantFrom(0, 7, 8, 7999, 8000, 8001, 15_999, 16_000, 24_000),
);

it('finds the living list indexes of any page, and reads the root and few leaves', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(index, { minLength: 1, maxLength: 300 }),
      fc.integer({ min: 1, max: 40 }),
      fc.array(fc.tuple(fc.nat(24_200), fc.integer({ min: 1, max: 1000 })), { minLength: 1, maxLength: 10 }),
      async (marked, together, pages) => {
        const { table, mark, reads } = memoryTable();
        for (let first = 0; first < marked.length; first += together)
          await mark(...marked.slice(first, first + together));
        const count = 24_101;
        const living = Array.from({ length: count }, (_, number) => number).filter(
          (number) => !marked.includes(number),
        );
        const root = await readGoneRoot(table, list);
        expect([root.total, root.highest]).toEqual([marked.length, Math.max(...marked)]);
        for (const [offset, limit] of pages) {
          reads.length = 0;
          const last = Math.min(offset + limit, living.length) - 1;
          expect(await livingIndexes(table, { list, count }, root, offset, last)).toEqual(
            living.slice(offset, offset + limit),
          );
          expect(reads.length).toBeLessThanOrEqual(2);
        }
      },
    ),
    { numRuns: 30 },
  );
});

it('skips leaves without a living id unread, and needs none where nothing is gone', async () => {
  const { table, mark, reads, items } = memoryTable();
  for (let gone = 8000; gone < 16_000; gone += 1) await mark(gone);
  const root = await readGoneRoot(table, list);
  reads.length = 0;
  const found = await livingIndexes(table, { list, count: 20_000 }, root, 7998, 8001);
  expect(found).toEqual([7998, 7999, 16_000, 16_001]);
  expect(reads).toEqual([]);
  const leaf = items.get(textOf(list.goneLeaf(1)));
  expect(leaf).toMatchObject({ gone: 8000, bits: Buffer.alloc(1000, 0xff).toString('base64') });
});

it('finds fewer when a leaf has more marks than the root that was read', async () => {
  const { table, mark } = memoryTable();
  await mark(0);
  const root = await readGoneRoot(table, list);
  await mark(1);
  expect(await livingIndexes(table, { list, count: 5 }, root, 0, 3)).toEqual([2, 3, 4]);
});
