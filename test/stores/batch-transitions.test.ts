import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';
import { sampleBatch, sampleDelivery, sampleRequests } from '#support/sample-batches.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { batches } = stores;

const now = (): string => clock.now().toISOString();

async function create(changes: Partial<Batch> = {}): Promise<Batch> {
  const batch = sampleBatch(clock.now(), { total: 45, ...changes });
  // No transition reads the requests.
  await batches.create(batch, sampleRequests(1), null);
  return batch;
}

const read = async ({ workspaceId, id }: Batch): Promise<Batch> =>
  (await batches.get(workspaceId, id)) as Batch;

/** Ends the batch as it is now. */
async function end(
  batch: Batch,
  status: 'completed' | 'failed' | 'cancelled' = 'completed',
  delivery: WebhookDelivery | null = null,
): Promise<boolean> {
  const isCancelled = status === 'cancelled';
  return batches.complete(
    await read(batch),
    {
      ...{ status, completed: 40, failed: 5 },
      completedAt: isCancelled ? null : now(),
      cancelledAt: isCancelled ? now() : null,
    },
    delivery,
  );
}

const statesOf: Record<string, (batch: Batch) => Promise<unknown>> = {
  'in progress': async () => undefined,
  cancelling: (batch) => batches.cancel(batch, now()),
  expired: (batch) => batches.markExpired(batch, now()),
  failed: (batch) => batches.markFailed(batch, now()),
  'expired and cancelling': async (batch) => {
    await batches.markExpired(batch, now());
    await batches.cancel(batch, now());
  },
  ended: (batch) => end(batch),
};

/** The states in which a write succeeds; in all others it must change nothing. */
async function allowedIn(
  write: (batch: Batch) => Promise<Batch | undefined>,
  prepare: (batch: Batch) => Promise<unknown> = async () => undefined,
): Promise<string[]> {
  const allowed = Object.entries(statesOf).map(async ([name, reach]) => {
    const batch = await create();
    await prepare(batch);
    await reach(batch);
    const before = await read(batch);
    const written = await write(before);
    expect(await read(batch)).toEqual(written ?? before);
    return written === undefined ? [] : [name];
  });
  return (await Promise.all(allowed)).flat();
}

describe('enqueueFirst', () => {
  it('takes groups and slots once', async () => {
    const batch = await create();
    const started = await batches.enqueueFirst(batch, 3);
    expect(started).toEqual({ ...batch, groupsSent: 3, slots: 3 });
    expect(await read(batch)).toEqual(started);
    expect(await batches.enqueueFirst(batch, 2)).toEqual(started);
    expect(await read(batch)).toEqual(started);
  });

  it('is done by one of two callers, and both see the same groups', async () => {
    const batch = await create();
    const [one, other] = await Promise.all([batches.enqueueFirst(batch, 2), batches.enqueueFirst(batch, 4)]);
    expect(one).toEqual(other);
  });
});

describe('markFirstEnqueued', () => {
  it('stores the first time', async () => {
    const batch = await create();
    await batches.markFirstEnqueued(batch, now());
    const dispatched = { ...batch, dispatchedAt: now() };
    expect(await read(batch)).toEqual(dispatched);
    await clock.advance(1000);
    await batches.markFirstEnqueued(batch, now());
    expect(await read(batch)).toEqual(dispatched);
  });
});

describe('saveTaskToken', () => {
  it('needs an open batch', async () => {
    const save = (batch: Batch) => batches.saveTaskToken(batch, 'token');
    expect(await allowedIn(save)).toEqual([
      'in progress',
      'cancelling',
      'expired',
      'failed',
      'expired and cancelling',
    ]);
  });

  it('replaces the token of an earlier task', async () => {
    const batch = await create();
    await batches.saveTaskToken(batch, 'first');
    expect(await batches.saveTaskToken(batch, 'second')).toEqual({ ...batch, taskToken: 'second' });
  });

  it('does not replace the token of a later task, or of an equal time alone', async () => {
    const batch = await create();
    const [noon, afternoon] = ['2027-01-31T12:00:00.000Z', '2027-01-31T12:00:01.000Z'];
    await batches.saveTaskToken(batch, 'first', afternoon);
    expect(await batches.saveTaskToken(batch, 'delayed', noon)).toBeUndefined();
    expect(await batches.saveTaskToken(batch, 'of an earlier version')).toBeUndefined();
    expect(await read(batch)).toEqual({ ...batch, taskToken: 'first' });
    expect(await batches.saveTaskToken(batch, 'again', afternoon)).toEqual({ ...batch, taskToken: 'again' });
  });
});

describe('takeGroups', () => {
  const outcomes = { completed: 8, failed: 2, slots: 0 };
  const next = { groups: 1, slotLimit: 3 };

  it('needs a batch in progress that is not stopped', async () => {
    const take = (batch: Batch) => batches.takeGroups(batch, outcomes, { ...next, at: now() });
    expect(await allowedIn(take, (batch) => batches.enqueueFirst(batch, 3))).toEqual(['in progress']);
  });

  it('records outcomes and takes the next groups', async () => {
    const batch = await create();
    await batches.enqueueFirst(batch, 3);
    expect(await batches.takeGroups(batch, outcomes, { ...next, at: now() })).toEqual({
      ...batch,
      ...{ completed: 8, failed: 2, slots: 3, groupsSent: 4, sentAt: now() },
    });
  });

  it('does nothing before the first groups are enqueued', async () => {
    const batch = await create();
    const none = { completed: 0, failed: 0, slots: 0 };
    expect(await batches.takeGroups(batch, none, { groups: 1, slotLimit: 9, at: now() })).toBeUndefined();
    expect(await read(batch)).toEqual(batch);
  });

  it('reaches the slot limit and does not pass it', async () => {
    const batch = await create();
    await batches.enqueueFirst(batch, 2);
    const take = (slots: number, groups: number, slotLimit: number) =>
      batches.takeGroups(batch, { completed: 0, failed: 0, slots }, { groups, slotLimit, at: now() });
    expect(await take(2, 2, 3)).toBeUndefined();
    expect(await take(1, 1, 3)).toMatchObject({ slots: 3, groupsSent: 3 });
    expect(await take(1, 1, 3)).toBeUndefined();
    // A worker that has a slot needs no further one.
    expect(await take(0, 1, 2)).toBeUndefined();
    expect(await take(0, 1, 3)).toMatchObject({ slots: 3, groupsSent: 4 });
  });

  it('takes no groups that the batch does not have', async () => {
    const batch = await create({ total: 21 });
    await batches.enqueueFirst(batch, 2);
    const next = { slotLimit: 9, at: now() };
    expect(await batches.takeGroups(batch, outcomes, { ...next, groups: 2 })).toBeUndefined();
    expect(await batches.takeGroups(batch, outcomes, { ...next, groups: 1 })).toMatchObject({
      groupsSent: 3,
    });
    expect(await batches.takeGroups(batch, outcomes, { ...next, groups: 1 })).toBeUndefined();
  });

  it('gives each group to one of many callers', async () => {
    const batch = await create();
    await batches.enqueueFirst(batch, 1);
    const one = { completed: 1, failed: 0, slots: 1 };
    const taken = await Promise.all(
      Array.from({ length: 8 }, () =>
        batches.takeGroups(batch, one, { groups: 1, slotLimit: 99, at: now() }),
      ),
    );
    expect(taken.flatMap((each) => each?.groupsSent ?? []).sort()).toEqual([2, 3, 4, 5]);
    expect(await read(batch)).toMatchObject({ completed: 4, groupsSent: 5, slots: 5 });
  });
});

describe('recordOutcomes', () => {
  it('needs an open batch', async () => {
    const record = (batch: Batch) => batches.recordOutcomes(batch, { completed: 2, failed: 1, slots: -1 });
    expect(await allowedIn(record)).toEqual([
      'in progress',
      'cancelling',
      'expired',
      'failed',
      'expired and cancelling',
    ]);
  });

  it('adds to the counters, also of several callers at the same time', async () => {
    const batch = await create();
    await Promise.all(
      Array.from({ length: 6 }, () => batches.recordOutcomes(batch, { completed: 2, failed: 1, slots: 3 })),
    );
    expect(await batches.recordOutcomes(batch, { completed: 0, failed: 0, slots: -20 })).toEqual({
      ...batch,
      ...{ completed: 12, failed: 6, slots: -2 },
    });
  });
});

describe('requeueAll', () => {
  it('replaces slots and groups unless requests were enqueued since the batch was read', async () => {
    const batch = await batches.enqueueFirst(await create(), 4);
    const sent = { at: now(), groupsSent: 5, slots: 2 };
    const requeued = await batches.requeueAll(batch, sent);
    expect(requeued).toEqual({ ...batch, sentAt: now(), groupsSent: 5, slots: 2 });
    await clock.advance(1);
    // The batch as it was read before.
    expect(await batches.requeueAll(batch, { ...sent, at: now() })).toBeUndefined();
    expect(await read(batch)).toEqual(requeued);
    expect(await batches.requeueAll(await read(batch), { ...sent, at: now() })).toMatchObject({
      sentAt: now(),
    });
  });

  it('does nothing after a worker has enqueued further groups', async () => {
    const batch = await batches.enqueueFirst(await create(), 1);
    const none = { completed: 0, failed: 0, slots: 0 };
    await batches.takeGroups(batch, { ...none, slots: 1 }, { groups: 1, slotLimit: 9, at: now() });
    expect(await batches.requeueAll(batch, { at: now(), groupsSent: 1, slots: 1 })).toBeUndefined();
    expect(await read(batch)).toMatchObject({ groupsSent: 2, slots: 2 });
  });
});

describe('requeueLost', () => {
  it('needs a batch that says in_progress', async () => {
    const requeue = (batch: Batch) => batches.requeueLost(batch, { at: now(), slots: 3 });
    expect(await allowedIn(requeue)).toEqual(['in progress', 'expired', 'failed']);
  });

  it('adds slots and stores the time', async () => {
    const batch = await batches.enqueueFirst(await create(), 2);
    const requeued = await batches.requeueLost(batch, { at: now(), slots: 3 });
    expect(requeued).toEqual({ ...batch, slots: 5, sentAt: now() });
  });
});

describe('incrementExecutionNumber', () => {
  it('is done by one of two callers', async () => {
    const batch = await create();
    const outcomes = await Promise.all([
      batches.incrementExecutionNumber(batch),
      batches.incrementExecutionNumber(batch),
    ]);
    expect(outcomes.filter((each) => each === undefined)).toHaveLength(1);
    expect(await read(batch)).toEqual({ ...batch, executionNumber: 2 });
  });

  it('is possible in every state, because a webhook may need an execution', async () => {
    expect(await allowedIn((batch) => batches.incrementExecutionNumber(batch))).toEqual(
      Object.keys(statesOf),
    );
  });
});

describe('a stop', () => {
  it('by a cancel needs a batch that says in_progress', async () => {
    expect(await allowedIn((batch) => batches.cancel(batch, now()))).toEqual([
      'in progress',
      'expired',
      'failed',
    ]);
  });

  it.each(['markExpired', 'markFailed'] as const)('by %s needs a batch that is not stopped', async (mark) => {
    expect(await allowedIn((batch) => batches[mark](batch, now()))).toEqual(['in progress']);
  });

  it('by a cancel makes the batch cancelling', async () => {
    const batch = await create();
    const stop = { reason: 'cancelled', at: now() };
    expect(await batches.cancel(batch, now())).toEqual({ ...batch, status: 'cancelling', stop });
  });

  it.each([
    ['markExpired', 'expired'],
    ['markFailed', 'failed'],
  ] as const)(
    'by %s leaves the batch in progress, and stays the reason after a cancel',
    async (mark, reason) => {
      const batch = await create();
      const stop = { reason, at: now() };
      expect(await batches[mark](batch, now())).toEqual({ ...batch, stop });
      await clock.advance(1000);
      expect(await batches.cancel(batch, now())).toEqual({ ...batch, status: 'cancelling', stop });
    },
  );

  it('is made by one of several callers', async () => {
    const batch = await create();
    const outcomes = await Promise.all([
      batches.cancel(batch, now()),
      batches.cancel(batch, now()),
      batches.cancel(batch, now()),
    ]);
    expect(outcomes.filter((each) => each !== undefined)).toHaveLength(1);
  });
});

describe('complete', () => {
  it('ends a batch once, and removes its task token', async () => {
    const batch = await create();
    await batches.saveTaskToken(batch, 'token');
    const final = {
      status: 'completed',
      completed: 44,
      failed: 1,
      completedAt: now(),
      cancelledAt: null,
    } as const;
    expect(await batches.complete(batch, final, null)).toBe(true);
    const ended = { ...batch, ...final };
    expect(await read(batch)).toEqual(ended);
    expect(await batches.complete(batch, { ...final, completed: 45 }, null)).toBe(false);
  });

  it('stores the time of a cancelled batch', async () => {
    const batch = await create();
    await batches.cancel(batch, now());
    expect(await end(batch, 'cancelled')).toBe(true);
    expect(await read(batch)).toMatchObject({ status: 'cancelled', completedAt: null, cancelledAt: now() });
  });

  const final = { status: 'completed', completed: 45, failed: 0, cancelledAt: null } as const;

  it.each(['cancelling', 'expired', 'failed'])('needs the stop that was read: %s', async (state) => {
    const batch = await create();
    await statesOf[state]?.(batch);
    const stopped = await read(batch);
    expect(await batches.complete(batch, { ...final, completedAt: now() }, null)).toBe(false);
    expect(await read(batch)).toEqual(stopped);
    expect(await batches.complete(stopped, { ...final, completedAt: now() }, null)).toBe(true);
  });

  it('needs the status that was read: an expired batch may be cancelled meanwhile', async () => {
    const batch = await create();
    const expired = (await batches.markExpired(batch, now())) as Batch;
    await batches.cancel(batch, now());
    expect(await batches.complete(expired, { ...final, completedAt: now() }, null)).toBe(false);
  });

  it('is done by one of several callers', async () => {
    const batch = await create();
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () => batches.complete(batch, { ...final, completedAt: now() }, null)),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(1);
  });

  it('starts the delivery of the webhook, or none', async () => {
    const batch = await create();
    const delivery = sampleDelivery(batch, now());
    expect(await stores.deliveries.get(delivery)).toBeUndefined();
    expect(await end(batch, 'completed', delivery)).toBe(true);
    expect(await stores.deliveries.get(delivery)).toEqual(delivery);
    const silent = await create();
    await end(silent);
    expect(
      await stores.deliveries.get({ workspaceId: silent.workspaceId, batchId: silent.id }),
    ).toBeUndefined();
  });
});
