import { expect, it } from 'vitest';
import { batches } from '#runtime/composition/services.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { callsOf } from '#support/operation-calls.ts';
import { sampleBatch, sampleRequest } from '#support/sample-batches.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service } = await useScriptedService({ recordCalls: true });

// docs/operators.md has these figures. In 2,000 batches of ten they were 4,209 units.
it.each([
  { count: 100, total: 10, unitsOfBatch: 2.3 },
  { count: 5, total: 1000, unitsOfBatch: 103 },
])(
  'the erasure of a user reads $unitsOfBatch units at most for each batch of $total requests',
  async ({ count, total, unitsOfBatch }) => {
    const { client, workspaceId } = await openTenant(service);
    const erase = (user: string) =>
      callsOf(service, async () => dataOf(await client.delete(`/users?external_user_id=${user}`)));
    const { readUnits: without } = await erase('ann');
    for (let number = 0; number < count; number += 1) {
      const batch = sampleBatch(new Date(), { workspaceId, total });
      const requests = Array.from({ length: total }, (_, index) =>
        sampleRequest(index, { externalUserId: number === 0 && index === 0 ? 'ann' : `user-${index}` }),
      );
      expect(await batches().create(batch, requests, null, null)).toBe('created');
    }
    const { readUnits } = await erase('ann');
    console.log(`Read units for each of ${count} batches of ${total}: ${(readUnits - without) / count}`);
    expect((readUnits - without) / count).toBeGreaterThan(2);
    expect((readUnits - without) / count).toBeLessThanOrEqual(unitsOfBatch);
    // Requests of others stay.
    const [newest] = (await batches().page(workspaceId, {}, { limit: 1, offset: count - 1 })).batches;
    if (newest === undefined) throw new Error('The batches are missing');
    const [own, other] = await batches().requests(newest, [0, 1]);
    expect([own?.externalUserId, other?.externalUserId]).toEqual([null, 'user-1']);
  },
);
