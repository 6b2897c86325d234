import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { ChatBatchClient, type SubmitProgress } from '#lib/client/index.ts';
import { startCuttingProxy } from '#support/cutting-proxy.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { createTenant } from '#support/service.ts';
import { startSoakService } from '#support/soak/start-soak-service.ts';
import { useLocalTable } from '../../bin/operator.ts';

const count = 2500;

test.runIf(process.env.SOAK !== undefined)('three batches survive a kill of the service', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'client-'));
  const model = await startScriptedModel();
  model.onCall = (call) => {
    call.chunk(`To: ${call.request.messages.at(-1)?.content}`);
    call.finish();
  };
  const start = () =>
    startSoakService({
      assembly: inject('assembly'),
      dataDir: folder,
      maxConcurrency: 4,
      environment: { OPENAI_BASE_URL: model.url, LEASE_SECONDS: '3' },
    });
  let service = await start();
  const portOf = ({ baseUrl }: typeof service) => Number(new URL(baseUrl).port);
  const proxy = await startCuttingProxy(portOf(service));
  onTestFinished(async () => {
    await service.crash();
    await Promise.all([model.close(), proxy.close()]);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  useLocalTable(service.stores.outputs.DataTableName ?? '', service.stores.endpoints.dynamodb);
  const tenant = await createTenant({ model: 'openai:test', titles: false });
  const client = new ChatBatchClient({
    baseUrl: service.baseUrl.replace(String(portOf(service)), String(proxy.port)),
    apiKey: tenant.apiKey,
    retryDelay: 100,
  });

  const requests = Array.from({ length: count }, (_, index) => ({
    custom_id: `request-${index}`,
    message: `Number ${index}`,
  }));
  let restarted: Promise<void> | undefined;
  const restart = async () => {
    await service.crash();
    service = await start();
    proxy.forwardTo(portOf(service));
  };
  const progress: SubmitProgress[] = [];
  const received: string[] = [];
  const { results, batches } = await client.batches.submitAndWait(
    { agent_id: tenant.agentId, requests },
    {
      pollInterval: 200,
      onProgress: (next) => {
        progress.push(next);
        if (next.completed_requests > count / 10) restarted ??= restart();
      },
      onResult: ({ custom_id }) => void received.push(custom_id),
    },
  );
  await restarted;
  expect(restarted).toBeDefined();
  expect(results.map(({ custom_id, response_content }) => [custom_id, response_content])).toEqual(
    requests.map(({ custom_id }, index) => [custom_id, `To: Number ${index}`]),
  );
  expect(batches.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  expect((await client.batches.list()).pagination.total_records).toBe(3);
  expect(received.toSorted()).toEqual(requests.map(({ custom_id }) => custom_id).toSorted());
  const counts = progress.map(({ completed_requests }) => completed_requests);
  expect(counts).toEqual(counts.toSorted((one, other) => one - other));
  expect(progress.at(-1)).toMatchObject({
    total_requests: count,
    completed_requests: count,
    failed_requests: 0,
  });
});
