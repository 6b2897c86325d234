import { expect, it, vi } from 'vitest';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
import { callsOf } from '#support/operation-calls.ts';
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
