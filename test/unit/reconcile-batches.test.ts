import { expect, test } from 'vitest';
import type { Batch } from '#domain/batch.ts';
import { reconcileBatches } from '#domain/reconcile-batches.ts';

type Given = Parameters<typeof reconcileBatches>[0];

const now = new Date('2027-01-31T12:00:00.000Z');
const batch = (id: string, minutesAgo: number, status: Batch['status'] = 'in_progress'): Batch =>
  ({ id, status, expiresAt: new Date(now.getTime() - minutesAgo * 60_000).toISOString() }) as Batch;

/** Every batch cannot be reconciled: that must hide neither the others nor how late they are. */
function services(batches: Batch[]): { given: Given; errors: unknown[] } {
  const errors: unknown[] = [];
  const given = {
    batchQueue: { level: async () => 'empty' },
    batches: {
      async *allOpen() {
        yield batches;
      },
    },
    batchWorkflow: {
      stateOf: async () => {
        throw new Error('out of reach');
      },
    },
    clock: { now: () => now },
    log: {
      info: () => undefined,
      warn: () => undefined,
      error: (_: string, fields: unknown) => errors.push(fields),
    },
    replySettings: { lease: 30_000 },
  };
  return { given: given as unknown as Given, errors };
}

test('a batch counts as overdue when it is open a quarter of an hour after its time was up', async () => {
  const { given, errors } = services([
    batch('in time', -60),
    batch('just over', 14),
    batch('overdue', 16),
    batch('being cancelled', 16, 'cancelling'),
    batch('ended, its webhook to come', 60, 'completed'),
  ]);
  expect(await reconcileBatches(given)()).toEqual({ overdue: 2 });
  expect(errors).toHaveLength(5);
});
