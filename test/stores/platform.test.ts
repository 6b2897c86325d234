import { describe, expect, it } from 'vitest';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { idempotency } = stores;

const hour = 60 * 60 * 1000;
const keyOf = (hash: string): IdempotencyKey => ({
  ...{ workspaceId: 'ws_1', hash, fingerprint: 'first request' },
  at: clock.now().getTime(),
});

describe('an idempotency key', () => {
  it('is free again 24 hours after its first request', async () => {
    const key = keyOf('expiring');
    await idempotency.store(key, { is: 'batch', batchId: 'batch-1' });
    expect(await idempotency.find({ ...key, at: key.at + 24 * hour - 1000 })).toBeDefined();
    const afterExpiry = { ...key, at: key.at + 24 * hour };
    expect(await idempotency.find(afterExpiry)).toBeUndefined();
    expect(await idempotency.store(afterExpiry, { is: 'batch', batchId: 'batch-2' })).toMatchObject({
      work: { batchId: 'batch-2' },
    });
  });

  it('is taken by one of many requests', async () => {
    const records = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        idempotency.store(keyOf('raced'), { is: 'batch', batchId: `batch-${index}` }),
      ),
    );
    expect(records).toEqual(records.map(() => records[0]));
  });
});
