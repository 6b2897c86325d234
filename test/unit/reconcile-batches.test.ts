import { expect, test } from 'vitest';
import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import { takeTurns } from '#domain/batches/take-turns.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import { batchWorld } from '#support/batch-world/batch-world.ts';
import { memoryReconciliationIndex } from '#support/memory-stores/reconciliation-index.ts';
import { sampleBatch, sampleRequests } from '#support/sample-batches.ts';

const minute = 60_000;

test('a batch counts as overdue a quarter of an hour after its time, and one that fails hides no other', async () => {
  const { clock, services, state, stores } = batchWorld();
  const create = async (id: string, minutesAgo: number) => {
    const expiresAt = new Date(clock.now().getTime() - minutesAgo * minute).toISOString();
    const batch = sampleBatch(clock.now(), { id, workspaceId: 'ws_1', expiresAt });
    await stores.batches.create(batch, sampleRequests(3), null);
    return batch;
  };
  await create('in time', -60);
  await create('just over', 14);
  await create('overdue', 16);
  await stores.batches.cancel(await create('being cancelled', 16), clock.now().toISOString());
  services.batches.manifest = async () => {
    throw new Error('out of reach');
  };
  expect(await reconcileBatches(services)()).toEqual({ overdue: 2, oldestWait: 0 });
  expect(state.errors).toHaveLength(4);
});

test('the oldest request that a worker could start tells how long requests wait', async () => {
  const world = batchWorld();
  const { clock, model, services, stores } = world;
  const waits = async () => (await reconcileBatches(services)()).oldestWait / minute;
  expect(await waits()).toBe(0);
  // No worker runs.
  const stopped = await world.create(2);
  await clock.advance(5 * minute);
  await world.create(2);
  await clock.advance(minute);
  expect(await waits()).toBe(6);
  await stores.batches.cancel(stopped, clock.now().toISOString());
  expect(await waits()).toBe(1);
  // A retry has been started before.
  model.replyTo = () => new ModelFailure('throttled', 'Busy');
  await world.workflow.step(world.functions);
  await world.advanceDuring(world.deliver());
  await clock.advance(3 * minute);
  expect(await waits()).toBe(0);
});

interface Entry {
  batchId: string;
  workspaceId: string;
}

/** A reconciler that finds entries of batches and deliveries that have ended, and the ids that it checks. */
function reconcilerOf(entries: { open: readonly Entry[]; webhooks?: readonly Entry[] }, milliseconds = 0) {
  const { clock, services } = batchWorld();
  const index = memoryReconciliationIndex();
  const due = new Date(clock.now().getTime() - minute).toISOString();
  for (const entry of entries.open) index.addOpenBatch(entry);
  for (const entry of entries.webhooks ?? []) index.addWebhook({ ...entry, due });
  const checked: string[] = [];
  const check = async (batchId: string): Promise<undefined> => {
    checked.push(batchId);
    if (milliseconds > 0) await clock.advance(milliseconds);
  };
  const run = reconcileBatches({
    ...services,
    reconciliationIndex: index.reconciliationIndex,
    batches: { ...services.batches, get: (_, batchId) => check(batchId) },
    deliveries: { ...services.deliveries, get: ({ batchId }) => check(batchId) },
  });
  return { checked, run };
}

const entriesOf = (workspaceId: string, count: number, prefix: string): Entry[] =>
  Array.from({ length: count }, (_, index) => ({
    batchId: `${prefix}${String(index).padStart(6, '0')}`,
    workspaceId,
  }));

test('workspaces take turns: one batch and one webhook are checked before 20,000 of another workspace', async () => {
  const { run, checked } = reconcilerOf({
    open: [...entriesOf('busy', 500, 'a'), ...entriesOf('small', 1, 'small-batch-')],
    webhooks: [...entriesOf('busy', 20_000, 'b'), ...entriesOf('small', 1, 'small-webhook-')],
  });
  await run();
  expect(checked).toHaveLength(20_502);
  for (const id of ['small-batch-000000', 'small-webhook-000000'])
    expect(checked.indexOf(id)).toBeLessThan(20);
});

test('a run that meets its deadline leaves the rest to the next runs, which skip nothing', async () => {
  // A run has 45 s: 450 checks of 100 ms.
  const { run, checked } = reconcilerOf({ open: entriesOf('busy', 1000, 'a') }, 100);
  const seen = new Set<string>();
  for (let times = 0; times < 3; times += 1) {
    checked.length = 0;
    await run();
    expect(checked.length).toBeLessThanOrEqual(450 + 16);
    for (const id of checked) seen.add(id);
  }
  expect(seen.size).toBe(1000);
});

test('one item of each source is taken in turn, until all are empty or have failed', async () => {
  const errors: unknown[] = [];
  const all = (sources: Parameters<typeof takeTurns<number>>[0]) =>
    Array.fromAsync(takeTurns(sources, (error) => errors.push(error)));
  const values = (...numbers: number[]) => numbers.values();
  expect(await all([values(1, 2, 3, 4), values(), values(5), values(6, 7)])).toEqual([1, 5, 6, 2, 7, 3, 4]);
  expect(await all([])).toEqual([]);
  const throttled = new Error('Throttled');
  function* failing<Value>(...before: Value[]): Generator<Value, undefined> {
    yield* before;
    throw throttled;
  }
  expect(await all(failing<Iterator<number>>(values(1, 2), failing(3), values(4, 5)))).toEqual([
    1, 3, 4, 2, 5,
  ]);
  expect(errors).toEqual([throttled, throttled]);
});
