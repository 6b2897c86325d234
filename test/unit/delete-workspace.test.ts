import { expect, it } from 'vitest';
import { type DeletionProgress, deleteWorkspace } from '#domain/workspaces/delete-workspace.ts';
import type { DeletedCounts } from '#domain/workspaces/workspace-deletion.ts';
import { manualClock } from '#support/manual-clock.ts';

const twentyMinutes = 20 * 60_000;
const second = 1000;

/** @param found the numbers of items that the passes find, in their order; later passes find none */
function open(found: number[], startedAt?: string) {
  const clock = manualClock();
  const progress: DeletionProgress[] = [];
  const finished: DeletedCounts[] = [];
  const services = {
    clock,
    workspaceDeletion: {
      start: async (id: string, at: string) => (id === 'ws_1' ? (startedAt ?? at) : undefined),
      async deleteItems(_id: string, onPage: (read: number, deleted: number) => void) {
        const items = found.shift() ?? 0;
        onPage(100, items);
        return items;
      },
      finish: async (_id: string, deleted: DeletedCounts) => void finished.push(deleted),
    },
    workspaceObjects: { delete: async () => (found.length === 0 ? 0 : 1) },
  };
  const run = (id = 'ws_1') => deleteWorkspace(services)(id, (event) => progress.push(event));
  const passes = () => progress.filter(({ type }) => type === 'scanned').length;
  return { clock, progress, finished, run, passes };
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

it('does not wait if it was started that long ago', async () => {
  const { run, passes } = open([3], '2027-01-31T11:40:00.000Z');
  expect(await run()).toEqual({ items: 3, objects: 1 });
  expect(passes()).toBe(2);
});

it('deletes nothing of an unknown workspace', async () => {
  const { run, passes } = open([3]);
  expect(await run('ws_2')).toBeUndefined();
  expect(passes()).toBe(0);
});
