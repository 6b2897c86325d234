import { expect, it } from 'vitest';
import type { DeletedCounts } from '#domain/workspaces/workspace.ts';
import { type DeletionProgress, deleteWorkspace } from '#domain/workspaces/workspaces.ts';
import { manualClock } from '#support/manual-clock.ts';

const twentyMinutes = 20 * 60_000;
const second = 1000;

/** @param found the numbers of items that the passes find, in their order; later passes find none */
function open(found: number[], startedAt?: string, deleted: DeletedCounts = { items: 0, objects: 0 }) {
  const clock = manualClock();
  const progress: DeletionProgress[] = [];
  const finished: DeletedCounts[] = [];
  const added: DeletedCounts[] = [];
  const services = {
    clock,
    workspaceDeletion: {
      start: async (id: string, at: string) =>
        id === 'ws_1' ? { startedAt: startedAt ?? at, deleted } : undefined,
      add: async (_id: string, counts: DeletedCounts) => void added.push(counts),
      async deleteItems(_id: string, onPage: (read: number, deleted: number) => Promise<void>) {
        await onPage(100, found.shift() ?? 0);
      },
      finish: async (_id: string, deleted: DeletedCounts) => void finished.push(deleted),
    },
    workspaceObjects: {
      async delete(_id: string, onDeleted: (deleted: number) => Promise<void>) {
        if (found.length > 0) await onDeleted(1);
      },
    },
  };
  const run = (id = 'ws_1') => deleteWorkspace(services, id, (event) => progress.push(event));
  const passes = () => progress.filter(({ type }) => type === 'scanned').length;
  return { clock, progress, finished, added, run, passes };
}

it('ends with a pass without a find that started when no function could write any more', async () => {
  const { clock, progress, finished, run, passes } = open([5, 2]);
  const running = run();
  await clock.advance(twentyMinutes - second);
  expect([passes(), finished]).toEqual([1, []]);
  expect(progress.at(-1)).toEqual({ type: 'waiting', until: new Date('2027-01-31T12:20:00.000Z') });
  await clock.advance(second);
  const total = { items: 7, objects: 2 };
  expect(await running).toEqual(total);
  expect([passes(), finished]).toEqual([3, [total]]);
});

it('waits also if the first pass finds nothing', async () => {
  const { clock, run, passes } = open([]);
  const running = run();
  await clock.advance(0);
  await clock.advance(twentyMinutes);
  expect(await running).toEqual({ items: 0, objects: 0 });
  expect(passes()).toBe(2);
});

it('adds up what earlier calls have deleted, stores it as it goes, and waits for nothing if they are that old', async () => {
  const { run, finished, added, passes } = open([3], '2027-01-31T11:40:00.000Z', { items: 40, objects: 5 });
  const total = { items: 43, objects: 6 };
  expect(await run()).toEqual(total);
  expect([passes(), finished]).toEqual([2, [total]]);
  expect(added).toEqual([
    { items: 0, objects: 1 },
    { items: 3, objects: 0 },
  ]);
});

it('deletes nothing of an unknown workspace', async () => {
  const { run, passes } = open([3]);
  expect(await run('ws_2')).toBeUndefined();
  expect(passes()).toBe(0);
});
