import { expect, test } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import type { OpenBatchEntry, WebhookEntry } from '#domain/batches/reconciliation-index.ts';

type Given = Parameters<typeof reconcileBatches>[0];

const start = Date.parse('2027-01-31T12:00:00.000Z');
const batch = (id: string, minutesAgo: number, status: Batch['status'] = 'in_progress'): Batch =>
  ({ id, status, expiresAt: new Date(start - minutesAgo * 60_000).toISOString() }) as Batch;

/** Fake stores for the reconciler: what it finds, how long each check takes by the clock, and how it ends. */
function world(options: {
  open?: { batchId: string; workspaceId: string; batch?: Batch }[];
  webhooks?: { batchId: string; workspaceId: string }[];
  milliseconds?: number;
}) {
  const { open = [], webhooks = [], milliseconds = 0 } = options;
  const checked: string[] = [];
  const errors: unknown[] = [];
  const state: { now: number; cursor: string | undefined } = { now: start, cursor: undefined };
  const check = (id: string): void => {
    checked.push(id);
    state.now += milliseconds;
  };
  const services = {
    batchQueue: { depth: async () => 'drained' },
    batches: {
      async get(_workspaceId: string, id: string) {
        check(id);
        return open.find(({ batchId }) => batchId === id)?.batch;
      },
      manifest: async () => {
        throw new Error('out of reach');
      },
      allItems: async () => [],
    },
    clock: { now: () => new Date(state.now) },
    deliveries: {
      async get({ batchId }: WebhookEntry) {
        check(batchId);
        return { state: 'delivered' };
      },
    },
    log: {
      info: () => undefined,
      warn: () => undefined,
      error: (_: string, fields: unknown) => errors.push(fields),
    },
    reconciliationIndex: {
      openBatches: async (): Promise<OpenBatchEntry[]> =>
        open
          .map(({ batchId, workspaceId }) => ({ batchId, workspaceId, lastCheck: null }))
          .toSorted((one, other) => one.batchId.localeCompare(other.batchId)),
      async *workspacesWithWebhooks() {
        yield* new Set(webhooks.map(({ workspaceId }) => workspaceId));
      },
      async *webhooksDue(wanted: string) {
        for (const entry of webhooks)
          if (entry.workspaceId === wanted) yield { ...entry, due: new Date(start).toISOString() };
      },
      removeWebhook: async () => undefined,
      removeOpenBatch: async () => undefined,
      cursor: async () => state.cursor,
      saveCursor: async (id: string) => {
        state.cursor = id;
      },
    },
    replySettings: { lease: 30_000 },
  };
  return {
    checked,
    errors,
    /** Runs the reconciler, one minute after the previous run. */
    async run(): Promise<{ overdue: number }> {
      state.now = start;
      checked.length = 0;
      return reconcileBatches(services as unknown as Given)();
    },
  };
}

test('a batch counts as overdue a quarter of an hour after its time, and one that fails hides no other', async () => {
  const { run, errors } = world({
    open: [
      batch('in time', -60),
      batch('just over', 14),
      batch('overdue', 16),
      batch('being cancelled', 16, 'cancelling'),
    ].map((each) => ({ batchId: each.id, workspaceId: 'w', batch: each })),
  });
  expect(await run()).toEqual({ overdue: 2 });
  expect(errors).toHaveLength(4);
});

const entriesOf = (workspaceId: string, count: number, prefix: string) =>
  Array.from({ length: count }, (_, index) => ({
    batchId: `${prefix}${String(index).padStart(6, '0')}`,
    workspaceId,
  }));

test('workspaces take turns: one batch and one webhook are checked before 20,000 of another workspace', async () => {
  const { run, checked } = world({
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
  const { run, checked } = world({ open: entriesOf('busy', 1000, 'a'), milliseconds: 100 });
  const seen = new Set<string>();
  for (let minute = 0; minute < 3; minute += 1) {
    await run();
    expect(checked.length).toBeLessThanOrEqual(450 + 16);
    for (const id of checked) seen.add(id);
  }
  expect(seen.size).toBe(1000);
});
