import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { requestsOf, runBatch } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import { residentBytes } from '#support/memory.ts';
import { replyWith } from '#support/model-server.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { createTenant } from '#support/service.ts';
import { type MemorySample, trendOf } from '#support/soak/memory-trend.ts';
import { startSoakService } from '#support/soak/start-soak-service.ts';
import { useLocalTable } from '../../bin/operator.ts';

/** During the first batches, threads start, code is compiled and heaps grow to their usual size. */
const batchesToWarmUp = 3;
const batchesChecked = 6;

it.runIf(process.env.SOAK !== undefined)(
  'memory stays what it is from one batch of 1000 to the next',
  {
    timeout: 1_800_000,
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'batch-memory-'));
    const model = await startScriptedModel();
    model.onCall = (call) => {
      replyWith(call, 'r'.repeat(1000));
      // The model would store all calls in this process for hours.
      model.calls.length = 0;
    };
    const service = await startSoakService({
      assembly: inject('assembly'),
      dataDir: join(folder, 'data'),
      maxConcurrency: 64,
      environment: { OPENAI_BASE_URL: model.url },
    });
    onTestFinished(async () => {
      await service.close();
      await model.close();
      await rm(folder, { recursive: true, force: true });
    });
    useLocalTable(service.stores.outputs.DataTableName ?? '', service.stores.endpoints.dynamodb);
    const tenant = await createTenant({ model: 'openai:test', titles: false });
    const client = clientOf(service, tenant);
    const samples: MemorySample[] = [];
    for (let count = 1; count <= batchesToWarmUp + batchesChecked; count += 1) {
      expect(await runBatch(client, tenant, requestsOf(1000), 600)).toMatchObject({
        completed_requests: 1000,
      });
      const bytes = await residentBytes(service.pid);
      const { threads } = await service.check();
      console.log(`After ${count} batches of 1000: ${Math.round(bytes / 1e6)} MB, ${threads} threads`);
      if (count > batchesToWarmUp) samples.push({ at: count, bytes });
    }
    expect(trendOf(samples).growth).toBeLessThan(0.1);
  },
);
