import { expect, it, vi } from 'vitest';
import { batches } from '#runtime/composition/services.ts';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { callsOf } from '#support/operation-calls.ts';
import { sampleBatch, sampleRequest } from '#support/sample-batches.ts';
import { useScriptedService } from '#support/use-service.ts';

vi.setConfig({ testTimeout: 360_000 });

const { model, service } = await useScriptedService({
  variables: {
    // So long that no lease is renewed, even on a slow machine.
    LEASE_SECONDS: '600',
    // With one worker, the number of claims of a batch is always the same.
    BATCH_WORKSPACE_SLOTS: '1',
    REQUESTS_PER_WORKER: '25',
  },
  recordCalls: true,
});
const text = '{"age": 7}';
model.onCall = (call) => replyWith(call, text);

/** A schema of 16 KB, the most that the service takes. */
const schemaWith = (description: string) => ({
  type: 'object',
  properties: { age: { type: 'integer', description } },
  required: ['age'],
});
const schema = schemaWith('d'.repeat(16 * 1024 - JSON.stringify(schemaWith('')).length));

const size = process.env.SOAK === undefined ? 200 : 1000;

it(`a batch of ${size} requests with a schema of 16 KB costs at most 17 write units more`, async () => {
  const tenant = await openBatchTenant(service, { titles: false });
  const unitsOf = async (fields: Record<string, unknown> = {}) => {
    let id = '';
    const { writeUnits } = await callsOf(
      service,
      async () => {
        ({ id } = await tenant.submit(requestsOf(size), fields));
        expect(await tenant.end(id, 170)).toMatchObject({ completed_requests: size });
      },
      /GetBatch/,
    );
    return { id, writeUnits };
  };
  const without = await unitsOf();
  const response_format = { type: 'json_schema', json_schema: { name: 'person', schema } };
  const formed = await unitsOf({ response_format });
  console.log(`${without.writeUnits} write units without a schema, ${formed.writeUnits} with one`);
  expect(formed.writeUnits).toBeLessThanOrEqual(without.writeUnits + 17);
  const results = await tenant.results(formed.id);
  expect(results).toHaveLength(size);
  for (const { response_content } of results) expect(JSON.parse(response_content ?? '')).toEqual({ age: 7 });
});

it('a page of a list reads less after the deletion of a chat', async () => {
  const { client, createChat } = await openTenant(service);
  for (let created = 0; created < 3; created += 1) await createChat();
  const list = () => client.get('/chats?order_by=asc');
  const unitsOfList = async () => {
    await list();
    // The purge of the deleted chat may run at the same time.
    return (await callsOf(service, list, /PurgeChat/)).readUnits;
  };
  // Counts, entries, and each chat.
  expect(await unitsOfList()).toBe(1 + 1 + 3);
  dataOf(await client.delete('/chats/2'));
  expect(await unitsOfList()).toBe(1 + 1 + 2);
});

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
