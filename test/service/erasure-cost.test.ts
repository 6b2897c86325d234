import { expect, it } from 'vitest';
import { batches } from '#runtime/composition/services.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { callsOf } from '#support/operation-calls.ts';
import { sampleBatch, sampleRequest } from '#support/sample-batches.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service } = await useScriptedService({ recordCalls: true });

it('the erasure of a user reads none of the batches of others', async () => {
  const [count, total] = [40, 10];
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
  console.log(`Read units with ${count} batches: ${readUnits}, without: ${without}`);
  expect(readUnits - without).toBeLessThanOrEqual(15);
  // Requests of others stay.
  const [oldest] = (await batches().page(workspaceId, {}, { limit: 1, offset: count - 1 })).batches;
  if (oldest === undefined) throw new Error('The batches are missing');
  const [own, other] = await batches().requests(oldest, [0, 1]);
  expect([own?.externalUserId, other?.externalUserId]).toEqual([null, 'user-1']);
});
